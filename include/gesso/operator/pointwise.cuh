// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Operators on single elements in device memory: those of operator/pointwise.hpp, or a user's own struct like them. Load,
// decode, statistic, encode and transpose come from here.
//
//   pointwise<silu>(sources_of(x), sinks_of(y), nullptr, stream);                        one pass
//   pointwise<swiglu>(sources_of(gate, up), sinks_of(quantized), workspace, stream);     two passes, one exact scale
#pragma once

#include <gesso/operator/operator_launch.cuh>

namespace gesso {

// Bytes of device memory, aligned to 16, that an operator needs whose outputs have one exact scale for all. Written before it
// is read: nothing has to be cleared, ever. One for each stream.
template<class Operator>
constexpr index_t pointwise_workspace_bytes = index_t{Operator::outputs} * detail::max_partials * 4;

// Operator's numbers of each element of `sources`, all (rows, columns), to `sinks`.
//   sources    sources_of(...): Operator::inputs views, elements or codes of any granularity
//   sinks      sinks_of(...): Operator::outputs views. Elements; codes with a scale each 1 x G (one G in a call, at most a
//              block's registers: 8192), or without scales; codes with one scale for all, plain, transposed or both. Scales
//              are just in time, of the operator's fp32 results; a NaN or an infinity takes no part in a scale and is the
//              code of NaN.
//   workspace  pointwise_workspace_bytes<Operator>; null where no output has one scale for all
// One pass over the operands; where an output has one scale for all, the operator is computed twice (largest magnitude, then
// codes; once, if it says from where it rises) and its sources are read twice: nothing of the size of a matrix lies in between.
// Other outputs are written in the first pass. Any shape, stride and address. Fastest where every operand's rows lie end to
// end, are pieces of 16 elements and begin at multiples of 16 bytes: then nothing is asked for each piece; other operands take
// about twice the time, to the same bytes. Nothing is allocated, nothing waits, can be captured in a graph; the same bytes for
// any grid, tuning and run. Numbers differ from the host's by operator_math (operator/functions.hpp).
// Errors: cudaErrorInvalidValue for what host_pointwise refuses or a missing workspace, cudaErrorNotSupported for a transpose
// of codes with a scale each 1 x G (write them, then transpose()), and launch errors; nothing is written then.
template<class Operator, class Tuning = void, class... Sources, class... Sinks>
[[nodiscard]] cudaError_t pointwise(
    const source_pack<Sources...>& sources, const sink_pack<Sinks...>& sinks, void* workspace, cudaStream_t stream)
{
    using source_type = source_pack<Sources...>;
    using sink_type = sink_pack<Sinks...>;
    detail::require_operands<Operator, source_type, sink_type>();
    detail::require_rising<Operator>();
    const detail::extent of = detail::extent_of(sources.first);
    status checked = detail::check_operands(of, sources);
    if (checked == status::success) checked = detail::check_operands(of, sinks);
    if (checked != status::success) return detail::error_of(checked);
    if (of.is_empty()) return cudaSuccess;
    if (detail::sinks_traits<sink_type>::has_tensor && workspace == nullptr) return cudaErrorInvalidValue;
    if (!detail::can_write(sinks)) return cudaErrorNotSupported;
    return detail::launch_pointwise<Operator, detail::operator_tuning_of<Tuning, source_type, sink_type>>(
        sources, sinks, workspace, stream);
}

}  // namespace gesso
