package dev.verbena.verbs;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What the requests of a batch name by pointers: up to two objects each. C follows the pointers while it posts, so the
 * objects are kept from being closed meanwhile.
 */
final class RequestParts {
    private static final int EACH = 2;

    private final @Nullable RequestPart[] parts;
    private final int[] ways;

    RequestParts(int capacity) {
        this.parts = new @Nullable RequestPart[EACH * capacity];
        this.ways = new int[EACH * capacity];
    }

    void set(int request, RequestPart one, @Nullable RequestPart other) {
        parts[EACH * request] = one;
        parts[EACH * request + 1] = other;
    }

    void forget(int request) {
        Arrays.fill(parts, EACH * request, EACH * (request + 1), null);
    }

    @Nullable
    RequestPart first(int request) {
        return parts[EACH * request];
    }

    @Nullable
    RequestPart second(int request) {
        return parts[EACH * request + 1];
    }

    /**
     * Keeps all objects of the first requests open.
     *
     * @param eachAddressed whether each request must name one
     * @return what {@link #exit} needs
     * @throws IllegalStateException if one is closed, or missing
     */
    int enter(int requests, boolean eachAddressed) {
        int at = 0;
        try {
            for (; at < EACH * requests; at++) {
                RequestPart part = parts[at];
                if (part != null) {
                    ways[at] = part.beginPost();
                } else if (eachAddressed && at % EACH == 0) {
                    throw unaddressed(at / EACH);
                }
            }
            return at;
        } catch (RuntimeException notAll) {
            exit(at);
            throw notAll;
        }
    }

    /** Ends what {@link #enter} began. */
    void exit(int entered) {
        for (int at = 0; at < entered; at++) {
            RequestPart part = parts[at];
            if (part != null) {
                part.endPost(ways[at]);
            }
        }
    }

    static IllegalStateException unaddressed(int request) {
        return new IllegalStateException("Request " + request + " is a datagram without an address: call to(...)");
    }
}
