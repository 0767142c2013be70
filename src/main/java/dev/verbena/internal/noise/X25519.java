package dev.verbena.internal.noise;

import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.spec.NamedParameterSpec;
import java.security.spec.XECPrivateKeySpec;
import java.security.spec.XECPublicKeySpec;
import javax.crypto.KeyAgreement;
import org.jspecify.annotations.Nullable;

/** The Diffie-Hellman function X25519 (RFC 7748), on keys as they travel: 32 bytes, the lowest first. */
final class X25519 {
    /** The number of bytes of a private key, a public key and a shared secret. */
    static final int BYTES = 32;

    private static final String NAME = "X25519";

    /** The point whose product with a private key is the public key. */
    private static final byte[] BASE = new byte[BYTES];

    static {
        BASE[0] = 9;
    }

    private X25519() {}

    /** Returns the public key of a private key. */
    static byte[] publicKey(byte[] privateKey) {
        byte[] key = agree(privateKey, BASE);
        if (key == null) {
            throw new AssertionError("X25519 refuses its own base point");
        }
        return key;
    }

    /** Returns the secret that a private key shares with a public key; null if the public key shares none with anybody. */
    static byte @Nullable [] agree(byte[] privateKey, byte[] publicKey) {
        try {
            KeyFactory keys = KeyFactory.getInstance(NAME);
            KeyAgreement agreement = KeyAgreement.getInstance(NAME);
            agreement.init(keys.generatePrivate(new XECPrivateKeySpec(NamedParameterSpec.X25519, privateKey)));
            agreement.doPhase(
                    keys.generatePublic(new XECPublicKeySpec(NamedParameterSpec.X25519, coordinate(publicKey))), true);
            return agreement.generateSecret();
        } catch (InvalidKeyException smallOrder) {
            return null;
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException("This JDK has no X25519: use one with the module jdk.crypto.ec", missing);
        }
    }

    /** Returns the number of a public key. The highest bit does not count. */
    private static BigInteger coordinate(byte[] publicKey) {
        byte[] highestFirst = new byte[BYTES];
        for (int i = 0; i < BYTES; i++) {
            highestFirst[i] = publicKey[BYTES - 1 - i];
        }
        highestFirst[0] &= 0x7f;
        return new BigInteger(1, highestFirst);
    }
}
