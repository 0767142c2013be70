package dev.verbena.net;

import dev.verbena.internal.link.Carrier;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.wire.Seal;
import dev.verbena.internal.wire.Wire;
import dev.verbena.verbs.LocalMemory;
import java.lang.foreign.MemorySegment;
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

    /** The limits in the peer's greeting, until the peer has proved that the greeting is its own. */
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
            send(on, begin().first());
        }
    }

    /** Returns the claim of this side; null if the channel can't outlive its connection. */
    private Wire.@Nullable Claim claim() {
        Healing healing = rail.session.healing;
        return healing == null ? null : new Wire.Claim(rail.resumes, healing.id, place());
    }

    /** Returns what the peer has to know of this side to go on over another connection. */
    private Wire.Place place() {
        Carrier.Connection with = rail.with();
        return options.paths().isEmpty()
                ? Wire.Place.ONE
                : new Wire.Place(with.device(), with.carrier.devices(), with.carrier.addresses());
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

    private Introduction begin() {
        Introduction begun =
                new Introduction(options, rail.transport(), rail.with().asks(), claim(), place());
        introduction = begun;
        return begun;
    }

    // Of the peer

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
        int version = Wire.version(greeting);
        if (version < 0) {
            malformed(greeting);
        } else if (version != Wire.VERSION) {
            rail.abort(EndReason.OTHER_VERSION, "It speaks version " + version + ", this side version " + Wire.VERSION);
        } else if (Wire.protection(greeting) != options.protection().code()) {
            rail.abort(
                    EndReason.OTHER_PROTECTION,
                    options.protection() == Protection.NONE
                            ? "It has a secret, and this side has none: see NodeOptions.secret()"
                            : "This side demands " + options.protection()
                                    + ", and the peer another protection or none");
        } else {
            return false;
        }
        return true;
    }

    private void malformed(MemorySegment greeting) {
        rail.broken("Greeting of " + greeting.byteSize() + " bytes is malformed");
    }

    /** Reads a greeting under a secret. That of a peer that connects is answered by another thread. */
    private void underSecret(Link on, Buffer buffer, MemorySegment greeting) {
        Introduction with = rail.incoming ? begin() : Objects.requireNonNull(introduction);
        unproved = with.read(greeting, rail.incoming, thrown -> engine.counts.couldNotAdmit(rail.session.peer, thrown));
        if (unproved == null) {
            stranger("Its greeting was made without the secret");
        } else if (!rail.incoming) {
            introduced(with.seal());
            prove();
        } else if (engine.handshakes.isNew(Introduction.passing(greeting))) {
            rail.session.messages.post(on, buffer); // for the proof
            rail.happen(RailState.Event.ASKED);
            engine.handshakes.add(rail);
        } else {
            notItsOwn();
        }
    }

    /** Answers the greeting of a peer that has connected. The caller is the thread of the handshakes, and holds no lock. */
    void answer() {
        Introduction with = introduction; // was written before this thread got the channel
        if (!rail.is(RailState.ANSWERING) || with == null) {
            return;
        }
        byte[] second = with.second();
        Seal made = second == null ? null : with.seal();
        try (var _ = rail.session.lock.held()) {
            Link on = rail.link();
            if (!rail.is(RailState.ANSWERING) || on == null) {
                if (made != null) {
                    made.wipe(); // the peer has given up, or has given way
                }
            } else if (second == null || made == null) {
                stranger("Its key shares a secret with nobody");
            } else {
                send(on, second);
                introduced(made);
                on.prepared(); // this thread may not post any more
            }
        }
    }

    private void introduced(Seal made) {
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
        Wire.Claim own = claim();
        boolean goesOn = own != null && own.isOf(claim) && rail.deviceOfPeer < rail.session.devicesOfPeer;
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

    /** Ends the channel of a peer that has said an old greeting, which somebody has recorded. */
    void notItsOwn() {
        stranger("Its greeting was not its own");
    }

    /** Ends the channel, whose peer has not proved that it knows the secret. */
    private void stranger(String details) {
        engine.counts.stranger(rail.session.peer);
        rail.abort(EndReason.WRONG_SECRET, details);
    }
}
