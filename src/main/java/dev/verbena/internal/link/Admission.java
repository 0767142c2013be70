package dev.verbena.internal.link;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a peer that has connected and greeted.
 *
 * @param owner the owner of the connection; null if the peer is refused
 * @param refusal the code of the reason, if the peer is refused
 */
public record Admission(@Nullable LinkOwner owner, int refusal) {
    /** Admits a peer. */
    public static Admission to(LinkOwner owner) {
        return new Admission(Objects.requireNonNull(owner), 0);
    }

    /** Refuses a peer. */
    public static Admission refused(int code) {
        return new Admission(null, code);
    }
}
