package dev.verbena.internal.lifetime;

import dev.verbena.internal.Driver;
import dev.verbena.internal.Fields;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/** The guard of an object that one thread uses. That thread also closes the object, so no call is under way meanwhile. */
final class ConfinedGuard extends CloseGuard {
    private static final VarHandle OPEN_TO = Fields.handle(MethodHandles.lookup(), "openTo", Thread.class);

    /** The thread that may use the object. Another thread takes over from one that has ended. */
    private Thread owner;

    /** The {@link #owner} while the object is open; else null. One comparison so checks both. */
    private @Nullable Thread openTo;

    ConfinedGuard(Lifetime lifetime, Thread owner) {
        super(lifetime);
        this.owner = owner;
        this.openTo = owner;
    }

    @Override
    Thread owner() {
        return owner;
    }

    @Override
    void takeOver() {
        owner = Thread.currentThread();
        if (openTo != null) {
            openTo = owner;
        }
    }

    /** Any thread may ask. */
    @Override
    boolean isClosed() {
        return OPEN_TO.getOpaque(this) == null;
    }

    @Override
    void checkThread() {
        if (owner != Thread.currentThread()) {
            throw new WrongThreadException(subject() + " is confined to thread '" + owner.getName()
                    + "' and was used by thread '" + Thread.currentThread().getName()
                    + "'. Take VerbsArena.ofShared() for objects that all threads use");
        }
    }

    @Override
    void checkOpen() {
        if (openTo != Thread.currentThread()) {
            checkThread();
            throw closedAlready();
        }
    }

    @Override
    void hold() {
        checkOpen();
    }

    @Override
    void release() {
        // closing has no other thread to wait for
    }

    @Override
    int enter() {
        checkOpen();
        return UNGUARDED;
    }

    @Override
    void exit(int way) {
        // closing has no other thread to wait for
    }

    @Override
    Driver bracketing(Driver driver) {
        return driver;
    }

    @Override
    void forgetUser() {
        // there is one user only
    }

    @Override
    void shut() {
        OPEN_TO.setOpaque(this, (Thread) null);
    }

    @Override
    void reopen() {
        OPEN_TO.setOpaque(this, owner);
    }
}
