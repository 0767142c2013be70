package dev.verbena.verbs.flow;

/** Counters that a rule can name: {@code dev.verbena.verbs.Counters} is the only implementation. */
public interface FlowCounters {}
