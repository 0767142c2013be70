package dev.verbena.verbs.flow;

/** Counters of a flow action. {@code dev.verbena.verbs.Counters} is the only implementation. */
public interface FlowCounters {}
