package dev.verbena.net;

import dev.verbena.internal.noise.NoiseCipher;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** The first greeting of an insider, who knows the secret, with a passing key of any bytes: no private key is needed for it. */
final class ForgedGreeting {
    private static final String NAME = "Noise_NNpsk0_25519_AESGCM_SHA256";

    private byte[] hash = NAME.getBytes(StandardCharsets.US_ASCII); // of 32 bytes
    private byte[] chaining = hash;
    private byte[] key = {};

    private ForgedGreeting() {}

    /**
     * Makes a greeting.
     *
     * @param head the 64 bytes in the clear
     * @param secret the pre-shared key
     * @param passing the passing key
     */
    static byte[] of(byte[] head, byte[] secret, byte[] passing, byte[] payload) throws GeneralSecurityException {
        ForgedGreeting noise = new ForgedGreeting();
        noise.mixHash(head);
        byte[][] made = noise.derive(secret, 3); // the modifier psk0
        noise.chaining = made[0];
        noise.mixHash(made[1]);
        noise.mixHash(passing);
        made = noise.derive(passing, 2);
        noise.key = made[1];
        byte[] sealed = new byte[payload.length + NoiseCipher.TAG_BYTES];
        NoiseCipher.sealing(noise.key).seal(noise.hash, payload, payload.length, sealed);
        byte[] all = Arrays.copyOf(head, head.length + passing.length + sealed.length);
        System.arraycopy(passing, 0, all, head.length, passing.length);
        System.arraycopy(sealed, 0, all, head.length + passing.length, sealed.length);
        return all;
    }

    private void mixHash(byte[] data) throws GeneralSecurityException {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        digest.update(hash);
        hash = digest.digest(data);
    }

    private byte[][] derive(byte[] material, int count) throws GeneralSecurityException {
        byte[] pseudorandom = hmac(chaining, material);
        byte[][] made = new byte[count][];
        byte[] before = {};
        for (int i = 0; i < count; i++) {
            byte[] input = Arrays.copyOf(before, before.length + 1);
            input[before.length] = (byte) (i + 1);
            before = hmac(pseudorandom, input);
            made[i] = before;
        }
        return made;
    }

    private static byte[] hmac(byte[] key, byte[] data) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(data);
    }
}
