// expect: "gesso::pointwise: rises_from, a number from zero up, is for operators of one input and one output"
#include <gesso/operator/pointwise.hpp>

template<int Inputs>
struct shifted {
    static constexpr int inputs = Inputs;
    static constexpr int outputs = 1;
    static constexpr float rises_from = Inputs == 1 ? 0.0f : 1.0f;
    static void apply(const float (&in)[Inputs], float (&out)[1]) { out[0] = in[0] + 1.0f; }
};

gesso::status sound(const gesso::matrix_ref<float>& x)
{
    return gesso::host_pointwise<shifted<1>>(gesso::sources_of(x), gesso::sinks_of(x));
}

#ifdef REJECT
gesso::status unsound(const gesso::matrix_ref<float>& x)
{
    return gesso::host_pointwise<shifted<2>>(gesso::sources_of(x, x), gesso::sinks_of(x));
}
#endif
