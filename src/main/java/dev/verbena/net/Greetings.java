package dev.verbena.net;

import dev.verbena.internal.link.Carrier;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.wire.Seal;
import dev.verbena.internal.wire.Wire;
import dev.verbena.verbs.LocalMemory;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The greetings of a rail: sends those of this side, and reads those of the peer. With a secret, the answer to a peer that
 * connects is made by the thread of the {@link Handshakes}. The channel's lock guards all fields, and all methods but
 * {@link #answer} are called under it.
 */
final class Greetings {
    private final Rail rail;
    private final Engine engine;
    private final NodeOptions options;

    /** The greetings of a node with a secret; null before and after. */
    private @Nullable Introduction introduction;

    /** The peer's greeting, until the peer has proved that it is its own. */
    private Wire.@Nullable Greeting unproved;

    private Wire.@Nullable Claim claimed;

    Greetings(Rail rail, Engine engine) {
        this.rail = rail;
        this.engine = engine;
        this.options = engine.options;
    }

    // Of this side

    /** Sends this side's greeting, or the last proof. The side that connects greets first, as iWARP demands. */
    void send(Link on) {
        if (options.protection() == Protection.NONE) {
            Wire.Greeting own = new Wire.Greeting(
                    options.window(), options.messageSize(), options.calls(), options.token(), claim());
            var piece = on.greeting(own.bytes());
            MemorySegment greeting = piece.segment().asSlice(Wire.HEADER_BYTES);
            own.writeWholeTo(greeting);
            if (rail.with().asks()) {
                Wire.ask(greeting);
            }
            rail.sendGreeting(on, piece);
        } else if (rail.incoming) {
            prove();
        } else {
            Introduction begun =
                    new Introduction(options, rail.transport(), rail.with().asks(), claim(), place());
            introduction = begun;
            send(on, begun.first());
        }
    }

    /** Returns the claim of this side; null if the channel can't outlive its connection. */
    private Wire.@Nullable Claim claim() {
        Healing healing = rail.session.healing;
        return healing == null ? null : new Wire.Claim(rail.resumes, healing.id, place());
    }

    private Wire.Place place() {
        Carrier.Connection with = rail.with();
        return place(options, with.carrier, with.device());
    }

    /** Returns what the peer of a connection has to know of this side to go on over another one. */
    static Wire.Place place(NodeOptions options, Carrier carrier, int device) {
        return options.paths().isEmpty()
                ? Wire.Place.ONE
                : new Wire.Place(device, carrier.devices(), carrier.addresses());
    }

    private void send(Link on, byte[] bytes) {
        LocalMemory piece = on.greeting(bytes.length);
        piece.segment().asSlice(Wire.HEADER_BYTES).copyFrom(MemorySegment.ofArray(bytes));
        rail.sendGreeting(on, piece);
    }

    /** Sends a sealed message without bytes, by which the peer knows that this side's greeting was no recording. */
    private void prove() {
        rail.sendControl(Wire.GREETING, 0);
    }

    // Of the peer

    /** Returns why a node refuses a peer by the clear bytes of its greeting; null if it does not. */
    static @Nullable EndReason refusal(NodeOptions options, MemorySegment greeting) {
        int version = Wire.version(greeting);
        if (version < 0) {
            return EndReason.PROTOCOL_ERROR;
        }
        if (version != Wire.VERSION) {
            return EndReason.OTHER_VERSION;
        }
        return Wire.protection(greeting) == options.protection().code() ? null : EndReason.OTHER_PROTECTION;
    }

    /**
     * Begins to answer a peer that has connected under a secret. Returns null, and counts a stranger, if its greeting was made
     * without the secret, or was said before.
     */
    static @Nullable Introduction begin(
            Engine engine, InetSocketAddress peer, Transport transport, Wire.Place own, MemorySegment greeting) {
        Introduction begun = new Introduction(engine.options, transport, false, null, own);
        Wire.Greeting read = begun.read(greeting, true, thrown -> engine.counts.couldNotAdmit(peer, thrown));
        if (read != null && engine.handshakes.isNew(Introduction.passing(greeting))) {
            return begun;
        }
        engine.counts.stranger(peer);
        return null;
    }

    /** Goes on with the greetings of a peer that has connected by TCP, which began before there was a channel. */
    void goOn(@Nullable Introduction begun) {
        introduction = begun;
    }

    /** Returns true if the greeting of a peer says that it goes on with a channel. */
    boolean resume(Buffer buffer, int bytes) {
        return rail.is(RailState.GREETING) && bytes >= Wire.GREETING_BYTES && Wire.resumes(buffer.memory());
    }

    /** Handles a message of the greetings. Returns true once the peer has greeted, and is admitted. */
    boolean received(Link on, Buffer buffer, int bytes) {
        if (rail.is(RailState.PROVING)) {
            return proved(on, buffer, bytes);
        }
        MemorySegment greeting = buffer.memory().asSlice(0, bytes);
        if (isRefused(greeting)) {
            return false;
        }
        if (options.protection() != Protection.NONE) {
            underSecret(on, buffer, greeting);
            return false;
        }
        Wire.Greeting limits = Wire.readGreeting(greeting);
        if (limits == null) {
            malformed(greeting);
            return false;
        }
        return admitted(limits);
    }

    /** Ends the channel of a peer that speaks another version, or asks for another protection than this side demands. */
    private boolean isRefused(MemorySegment greeting) {
        EndReason reason = refusal(options, greeting);
        if (reason == null) {
            return false;
        }
        if (reason == EndReason.PROTOCOL_ERROR) {
            malformed(greeting);
        } else if (reason == EndReason.OTHER_VERSION) {
            rail.abort(reason, "It speaks version " + Wire.version(greeting) + ", this side version " + Wire.VERSION);
        } else {
            rail.abort(
                    reason,
                    options.protection() == Protection.NONE
                            ? "It has a secret, and this side has none: see NodeOptions.secret()"
                            : "This side demands " + options.protection()
                                    + ", and the peer another protection or none");
        }
        return true;
    }

    private void malformed(MemorySegment greeting) {
        rail.broken("Greeting of " + greeting.byteSize() + " bytes is malformed");
    }

    /** Reads a greeting under a secret. That of a peer that connects is answered by another thread. */
    private void underSecret(Link on, Buffer buffer, MemorySegment greeting) {
        InetSocketAddress peer = rail.session.peer;
        Introduction with = introduction;
        if (!rail.incoming) {
            Introduction own = Objects.requireNonNull(with);
            if (own.read(greeting, false, thrown -> engine.counts.couldNotAdmit(peer, thrown)) == null) {
                stranger("Its greeting was made without the secret");
            } else {
                introduced(own.seal());
                prove();
            }
            return;
        }
        if (with == null) {
            with = begin(engine, peer, rail.transport(), place(), greeting);
        }
        if (with == null) {
            rail.abort(EndReason.WRONG_SECRET, "Its greeting was made without the secret, or was said before");
        } else {
            introduction = with;
            rail.session.messages.post(on, buffer); // for the proof
            rail.happen(RailState.Event.ASKED);
            engine.handshakes.add(rail);
        }
    }

    /** Answers the greeting of a peer that has connected. The caller is the thread of the handshakes, and holds no lock. */
    void answer() {
        Introduction with = Objects.requireNonNull(introduction); // was written before this thread got the channel
        if (!rail.is(RailState.ANSWERING)) {
            return;
        }
        byte[] second = with.second(); // takes long, and needs no lock
        try (var _ = rail.session.lock.held()) {
            if (!rail.is(RailState.ANSWERING)) { // the peer has given up, or has given way
                return;
            }
            if (second == null) {
                stranger("Its key shares a secret with nobody");
                return;
            }
            Link on = Objects.requireNonNull(rail.link()); // the greeting has come there
            Seal made = with.seal();
            send(on, second);
            introduced(made);
            on.prepared(); // this thread may not post any more
        }
    }

    private void introduced(Seal made) {
        unproved = Objects.requireNonNull(introduction).ofPeer();
        introduction = null;
        rail.introduced(made);
    }

    private boolean proved(Link on, Buffer buffer, int bytes) {
        if (bytes != 0) {
            rail.broken("Proof with " + bytes + " bytes");
            return false;
        }
        if (!rail.incoming) {
            rail.session.messages.post(on, buffer); // that of a message
        }
        Wire.Greeting greeting = Objects.requireNonNull(unproved);
        unproved = null;
        return admitted(greeting);
    }

    private boolean admitted(Wire.Greeting greeting) {
        if (rail.incoming && !admits(greeting)) {
            rail.abort(EndReason.REFUSED, "This side does not admit it");
            return false;
        }
        Wire.Claim claim = greeting.claim();
        rail.deviceOfPeer = claim == null ? 0 : claim.own().device();
        if (rail.incoming && rail.resumes) {
            claimed = claim;
            return true;
        }
        String wrong = rail.resumes ? wrongAgain(claim) : Healing.greeted(rail.session, claim);
        if (wrong != null) {
            rail.broken(wrong);
            return false;
        }
        if (!rail.resumes) {
            rail.session.messages.greeted(greeting);
        }
        return true;
    }

    /** Returns what is wrong with the answer of a peer to a claim; else null. */
    private @Nullable String wrongAgain(Wire.@Nullable Claim claim) {
        Wire.Claim own = Objects.requireNonNull(claim());
        boolean goesOn = own.isOf(claim) && rail.deviceOfPeer < rail.session.devicesOfPeer;
        return goesOn ? null : "It goes on with another channel";
    }

    /** Returns the channel that the peer goes on with, once it has proved that it may. */
    Wire.@Nullable Claim claimed() {
        return claimed;
    }

    private boolean admits(Wire.Greeting greeting) {
        try {
            return options.admit().isEmpty() || options.admit().get().test(rail.session.peer, greeting.token());
        } catch (RuntimeException | Error thrown) {
            engine.counts.couldNotAdmit(rail.session.peer, thrown);
            return false;
        }
    }

    /** Ends the channel of a peer that can't prove its greeting, which somebody has recorded. */
    void notItsOwn() {
        stranger("Its greeting was not its own");
    }

    /** Ends the channel, whose peer has not proved that it knows the secret. */
    private void stranger(String details) {
        engine.counts.stranger(rail.session.peer);
        rail.abort(EndReason.WRONG_SECRET, details);
    }
}
