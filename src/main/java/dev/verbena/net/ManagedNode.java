package dev.verbena.net;

import java.util.concurrent.atomic.AtomicReference;

/**
 * The node as others see it: adds it to the MBean server and to flight recordings once there are any. To make them would take
 * a program's start longer than all of this library.
 */
final class ManagedNode {
    /** The number of ticks between two looks for an MBean server, which take 40 bytes each. */
    private static final int TICKS_PER_LOOK = 10;

    private static final boolean CAN_BE_MANAGED = ModuleLayer.boot()
            .findModule("java.management")
            .filter(ManagedNode.class.getModule()::canRead)
            .isPresent();

    private enum State {
        /** Nobody wants to see the node. */
        UNSEEN,
        ADDING,
        ADDED,
        /** The node is closed, or another node has its name. */
        OVER
    }

    private final Engine engine;
    private final AtomicReference<State> state = new AtomicReference<>(State.UNSEEN);
    private int ticks;

    ManagedNode(Engine engine) {
        this.engine = engine;
    }

    /** Adds the node where it is wanted. Only the thread that makes progress calls this, ten times in a second. */
    void tick() {
        RecordedNodes.tick();
        if (!CAN_BE_MANAGED || state.get() != State.UNSEEN || ticks++ % TICKS_PER_LOOK != 0) {
            return;
        }
        try {
            if (NodeBean.isWanted() && state.compareAndSet(State.UNSEEN, State.ADDING)) {
                engine.runApart(this::add);
            }
        } catch (RuntimeException | Error shortage) { // ends neither the node nor the call of a thread of the program
            state.compareAndSet(State.ADDING, State.UNSEEN);
        }
    }

    private void add() {
        State now = State.UNSEEN; // to be tried again
        try {
            now = NodeBean.register(engine) ? State.ADDED : State.OVER;
        } catch (RuntimeException | Error shortage) { // see above
            return;
        } finally {
            if (!state.compareAndSet(State.ADDING, now) && now == State.ADDED) {
                NodeBean.unregister(engine); // it was closed meanwhile
            }
        }
    }

    /** Removes the node, which is closed. */
    void close() {
        RecordedNodes.remove(engine);
        if (state.getAndSet(State.OVER) == State.ADDED) {
            NodeBean.unregister(engine);
        }
    }
}
