package dev.verbena.internal.link;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.WorkStatus;
import java.lang.foreign.MemorySegment;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The one that a connection works for. It is told what happens to the connection and to its requests. A carrier holds the
 * {@linkplain #lock lock} where it says so. All other methods take it themselves.
 */
public interface LinkOwner {
    /** Returns the lock that guards the requests. It may be another one after the peer's greeting has come. */
    BiasedLock lock();

    /** Returns the arena of the connection and its queues. */
    VerbsArena arena();

    /** Returns the arena of what outlives the connection. */
    VerbsArena lastingArena();

    /** Returns what the peer's keys belong to: they go on over another connection of the same. */
    Object holder();

    /** Returns the name by which the peer knows what goes on over this connection; null if it begins with it. */
    @Nullable
    UUID goesOn();

    /** Returns the connection that this one takes the place of; null if there is none. */
    Carrier.@Nullable Connection before();

    // Connecting

    /** Notes the connection that begins to be made. */
    void connecting(Carrier.Connection made, Ways.Way over);

    /** Returns the connection. */
    Carrier.@Nullable Connection connection();

    /** Allocates what lasts, which takes long. */
    void allocate();

    /** Makes the queues. Returns false if the owner has ended. */
    boolean prepare();

    /** Accepts a peer. Returns false if the owner has ended. */
    boolean accept(Carrier.Connection made);

    /** Notes that the connection is made, for the side that connects. */
    void established();

    /** Returns true until the peer has greeted, and has proved that the greeting is its own. The carrier holds the lock. */
    boolean isHalfOpen();

    // Requests

    /** Notes that a request of this side has succeeded. The carrier holds the lock. */
    void sent(int place);

    /**
     * Handles a message of the peer. The carrier holds the lock.
     *
     * @param bytes the number of bytes, with those of the header and of the seal
     */
    void received(int place, int bytes);

    /** Returns the memory that the message of a receive comes into. */
    MemorySegment target(int place);

    /**
     * Notes that a request has failed. The carrier holds the lock.
     *
     * @param failure makes the exception for it
     */
    void failed(int place, WorkStatus status, Supplier<? extends @Nullable Throwable> failure);

    /** Ends a connection that carries what no node sends. The carrier holds the lock. */
    void wireBroken(String details);

    // The end

    /** Notes that the connection has ended. */
    void disconnected(String details);

    /**
     * Ends the connection.
     *
     * @param code the reason: see {@link dev.verbena.internal.wire.EndCode}
     */
    void end(int code, String details, @Nullable Throwable why);

    /** Ends the connection for a reason that the peer is told. The carrier holds the lock. */
    void abort(int code, String details);

    /** Ends the connection because of a failure of this side. */
    void fail(Throwable why);

    /** Notes that the device has lost the path. Returns false if there can be no other one. */
    boolean losesPath(String details);

    /** Returns true once nobody needs this connection any more. What happens to it concerns nobody. */
    boolean isRetired();

    /** Returns true if the peer was not admitted. */
    boolean isOfStranger();
}
