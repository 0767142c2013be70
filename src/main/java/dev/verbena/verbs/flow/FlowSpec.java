package dev.verbena.verbs.flow;

/** One part of a {@link FlowRule}: a header that packets must have, or an action ({@code struct ibv_flow_spec}). */
public sealed interface FlowSpec permits FlowMatch, FlowAction {}
