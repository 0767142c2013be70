package dev.verbena.net;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The secrets of a node, by name. All threads may use an instance. */
final class Secrets {
    /** The least number of bytes of a secret. */
    static final int LEAST = 16;

    /** The largest number of bytes of a name. */
    static final int MAX_NAME = 40;

    /** The hash of the only secret; null if the program finds them. */
    private final byte @Nullable [] only;

    private final Supplier<String> current;
    private final Function<String, Optional<byte[]>> byName;

    /** Makes the secrets of a node that has one, without a name. */
    Secrets(byte[] secret) {
        only = hash(secret);
        current = () -> "";
        byName = name -> Optional.empty();
    }

    /** Makes the secrets of a node whose program finds them. */
    Secrets(Supplier<String> current, Function<String, Optional<byte[]>> byName) {
        only = null;
        this.current = Objects.requireNonNull(current, "current");
        this.byName = Objects.requireNonNull(byName, "byName");
    }

    /** Returns the name of the secret that this node connects with, in UTF-8. */
    byte[] currentName() {
        byte[] name = current.get().getBytes(StandardCharsets.UTF_8);
        if (name.length > MAX_NAME) {
            throw new IllegalArgumentException("name of a secret must have at most " + MAX_NAME
                    + " bytes in UTF-8, got " + name.length + ": see NodeOptions.secrets()");
        }
        return name;
    }

    /** Returns the key that a secret stands for, to be wiped after use; null if no secret has the name. */
    byte @Nullable [] key(byte[] name) {
        if (only != null) {
            return name.length == 0 ? only.clone() : null;
        }
        Optional<byte[]> found = byName.apply(new String(name, StandardCharsets.UTF_8));
        return found.isEmpty() ? null : hash(found.get());
    }

    private static byte[] hash(byte[] secret) {
        if (secret.length < LEAST) {
            throw new IllegalArgumentException("secret must have at least " + LEAST + " bytes, got " + secret.length
                    + ": take random bytes, because who records a greeting can try short secrets");
        }
        try {
            return MessageDigest.getInstance("SHA-256").digest(secret);
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException("This JDK has no SHA-256", missing);
        }
    }

    @Override
    public boolean equals(@Nullable Object other) {
        if (!(other instanceof Secrets more)) {
            return false;
        }
        return only == null ? current == more.current && byName == more.byName : MessageDigest.isEqual(only, more.only);
    }

    @Override
    public int hashCode() {
        return only == null ? byName.hashCode() : Arrays.hashCode(only);
    }

    /** Returns a text without any secret. */
    @Override
    public String toString() {
        return only == null ? "secrets by name" : "a secret";
    }
}
