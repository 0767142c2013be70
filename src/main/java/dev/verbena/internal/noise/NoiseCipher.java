package dev.verbena.internal.noise;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * The cipher of one direction: AES-GCM under a key, with a counter that numbers the messages. It is the object
 * {@code CipherState} of Noise. An instance either seals or opens. One thread at a time uses it.
 *
 * <p>The JDK's {@code Cipher} takes a new object with the number of each message, and so a call allocates. Nothing else here
 * does.
 */
public final class NoiseCipher {
    /** The number of bytes by which a sealed message is longer. */
    public static final int TAG_BYTES = 16;

    /** The number of bytes of a key. */
    public static final int KEY_BYTES = 32;

    /** The number of bytes that are sealed at once. */
    public static final int PIECE = 32 << 10;

    private static final int NONCE_BYTES = 12;
    private static final long REKEY_NUMBER = -1;

    private final Cipher cipher;
    private final int mode;
    private final byte[] nonce = new byte[NONCE_BYTES];
    private final ByteBuffer number = ByteBuffer.wrap(nonce);
    private final byte[] keyBytes;
    private SecretKeySpec key;
    private long next;

    private NoiseCipher(int mode, byte[] key) {
        this.mode = mode;
        this.keyBytes = key.clone();
        this.key = new SecretKeySpec(keyBytes, "AES");
        try {
            cipher = Cipher.getInstance("AES/GCM/NoPadding");
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException("This JDK has no AES/GCM/NoPadding", missing);
        }
    }

    /**
     * Makes a cipher that seals.
     *
     * @param key the {@link #KEY_BYTES} of the key, which are copied
     * @return a new cipher, which begins with message 0
     */
    public static NoiseCipher sealing(byte[] key) {
        return new NoiseCipher(Cipher.ENCRYPT_MODE, key);
    }

    /**
     * Makes a cipher that opens what another one has sealed.
     *
     * @param key the {@link #KEY_BYTES} of the key, which are copied
     * @return a new cipher, which begins with message 0
     */
    public static NoiseCipher opening(byte[] key) {
        return new NoiseCipher(Cipher.DECRYPT_MODE, key);
    }

    /**
     * Seals the next message.
     *
     * @param associated bytes that are authenticated and not sent
     * @param plain an array that begins with the message
     * @param length the number of bytes of the message
     * @param sealed another array, for {@link #TAG_BYTES} more bytes than the message has
     */
    public void seal(byte[] associated, byte[] plain, int length, byte[] sealed) {
        try {
            run(associated, plain, length, sealed);
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException("AES-GCM failed to seal " + length + " bytes", impossible);
        }
    }

    /**
     * Seals the next message in its place or into other memory, in pieces that stay in the processor's cache: whole copies of 1 MiB took 26 us more
     * (2026-11-25). Pieces of 4 to 128 KiB take the same time.
     *
     * @param associated bytes that are authenticated and not sent
     * @param memory memory of the message
     * @param into the same memory or other memory, with room for {@link #TAG_BYTES} behind the message
     * @param start the place of the message in both
     * @param length the number of bytes of the message
     * @param plain an array for a piece, of {@link #PIECE} bytes or of the length
     * @param sealed another array, for {@link #TAG_BYTES} more
     */
    public void seal(
            byte[] associated,
            MemorySegment memory,
            MemorySegment into,
            long start,
            int length,
            byte[] plain,
            byte[] sealed) {
        try {
            begin(mode, next++);
            cipher.updateAAD(associated);
            long done = start;
            for (int from = 0; from < length - PIECE; from += PIECE) {
                MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, start + from, plain, 0, PIECE);
                int made = cipher.update(plain, 0, PIECE, sealed, 0);
                MemorySegment.copy(sealed, 0, into, ValueLayout.JAVA_BYTE, done, made); // never beyond what was read
                done += made;
            }
            int rest = (length - 1) % PIECE + 1; // 0 of 0
            MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, start + length - rest, plain, 0, rest);
            int made = cipher.doFinal(plain, 0, rest, sealed, 0);
            MemorySegment.copy(sealed, 0, into, ValueLayout.JAVA_BYTE, done, made);
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException("AES-GCM failed to seal " + length + " bytes", impossible);
        }
    }

    /**
     * Opens the next message. After a message that is not authentic, nothing can be opened any more.
     *
     * <p>Arrays are fastest, although the caller copies to them and from them, 22 us each for 1 MiB, and the cipher takes 105
     * (2026-11-25, JDK 25). In place in one array it takes 215, because the JDK then goes over the bytes twice, and between
     * direct buffers 300, because the JDK copies 512 bytes at a time. It returns no byte before the tag, and so a message can't
     * be opened in pieces.
     *
     * @param associated bytes that are authenticated and were not sent
     * @param sealed an array that begins with the sealed message
     * @param length the number of bytes of the sealed message
     * @param plain another array, for {@link #TAG_BYTES} fewer bytes
     * @return false if the message is not authentic: another one, changed, repeated, or out of order
     */
    public boolean open(byte[] associated, byte[] sealed, int length, byte[] plain) {
        if (length < TAG_BYTES) {
            return false;
        }
        try {
            run(associated, sealed, length, plain);
            return true;
        } catch (AEADBadTagException forged) {
            return false;
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException("AES-GCM failed to open " + length + " bytes", impossible);
        }
    }

    private void run(byte[] associated, byte[] from, int length, byte[] to) throws GeneralSecurityException {
        begin(mode, next++);
        cipher.updateAAD(associated);
        cipher.doFinal(from, 0, length, to, 0);
    }

    private void begin(int as, long message) throws GeneralSecurityException {
        number.putLong(Integer.BYTES, message); // four zero bytes, and the number with its highest byte first
        cipher.init(as, key, new GCMParameterSpec(8 * TAG_BYTES, nonce));
    }

    /** Replaces the key by one that is made of it, so that nobody finds the old one: {@code REKEY} of Noise. */
    public void rekey() {
        byte[] made = new byte[KEY_BYTES + TAG_BYTES];
        try {
            begin(Cipher.ENCRYPT_MODE, REKEY_NUMBER);
            cipher.doFinal(new byte[KEY_BYTES], 0, KEY_BYTES, made, 0);
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException("AES-GCM failed to make a key", impossible);
        }
        System.arraycopy(made, 0, keyBytes, 0, KEY_BYTES);
        Arrays.fill(made, (byte) 0);
        key = new SecretKeySpec(keyBytes, "AES");
    }

    /** Forgets the key as far as this object has it: the JDK's own copies stay until they are collected. */
    public void wipe() {
        Arrays.fill(keyBytes, (byte) 0);
        key = new SecretKeySpec(keyBytes, "AES");
    }
}
