package dev.verbena.bench;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.noise.NoiseHandshake;
import dev.verbena.internal.noise.NoiseHandshake.Pattern;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transfer;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import javax.crypto.Cipher;
import javax.crypto.KeyAgreement;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Measures what a secret costs, beside the JDK's own primitives over the same bytes, by turns: sealed messages of nodes on the
 * provider for tests, the handshake, and whether the time of a refusal tells how much of a guess is right.
 */
final class SecretCosts {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final byte[] SECRET = new byte[32];
    private static final byte[] PROLOGUE = new byte[64];
    private static final byte[] PAYLOAD = new byte[41];
    private static final int TAG_BYTES = 16;

    private SecretCosts() {}

    static void print(int warm, int rounds) throws InterruptedException {
        System.out.println(
                "ns on the provider for tests: minimum and median of the JDK's primitives, and of what a secret adds");
        sealed("sealed 64 B there and back", NetCosts.options(64), 64, 500, warm, rounds, 1.3);
        NodeOptions large = NetCosts.options(1 << 20).window(4).sends(4).calls(0);
        sealed("sealed 1 MiB there and back", large, 1 << 20, 2, warm / 10, rounds, 1.11);
        transfers(warm, rounds);
        handshake(Math.max(warm, 3000), rounds * 5);
        refusals(Math.max(warm, 3000), rounds * 20);
    }

    /** AES-GCM of the JDK, on arrays. */
    private static final class Bare {
        private final Cipher cipher;
        private final SecretKeySpec key = new SecretKeySpec(new byte[32], "AES");
        private final byte[] nonce = new byte[12];
        private final byte[] immediate = new byte[4];
        private final byte[] plain;
        private final byte[] sealed;
        private long number;

        Bare(int size) {
            try {
                cipher = Cipher.getInstance("AES/GCM/NoPadding");
            } catch (GeneralSecurityException missing) {
                throw new IllegalStateException(missing);
            }
            plain = new byte[size];
            sealed = new byte[size + TAG_BYTES];
        }

        /** Seals twice and opens twice. */
        void thereAndBack() {
            there();
            there();
        }

        /** Seals and opens. */
        void there() {
            try {
                begin(Cipher.ENCRYPT_MODE, ++number).doFinal(plain, 0, plain.length, sealed, 0);
                begin(Cipher.DECRYPT_MODE, number).doFinal(sealed, 0, sealed.length, plain, 0);
            } catch (GeneralSecurityException impossible) {
                throw new IllegalStateException(impossible);
            }
        }

        private Cipher begin(int mode, long message) throws GeneralSecurityException {
            ByteBuffer.wrap(nonce).putLong(4, message);
            cipher.init(mode, key, new GCMParameterSpec(8 * TAG_BYTES, nonce));
            cipher.updateAAD(immediate);
            return cipher;
        }
    }

    /** Compares what sealing adds to messages with four calls of AES-GCM. */
    private static void sealed(
            String name, NodeOptions options, int size, int operations, int warm, int rounds, double target)
            throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            NetCosts.Operation clear = NetCosts.nodes(arena, options, false);
            NetCosts.Operation sealed = NetCosts.nodes(arena, options.secret(SECRET), false);
            added(name, new Bare(size)::thereAndBack, clear, sealed, operations, warm, rounds, target);
        }
    }

    /** Compares what sealing adds to a transfer with two calls of AES-GCM. Both sides have threads of their own. */
    private static void transfers(int warm, int rounds) throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            int size = 1 << 20;
            NetCosts.Operation clear = offers(arena, NodeOptions.defaults(), size);
            NetCosts.Operation sealed = offers(arena, NodeOptions.defaults().secret(SECRET), size);
            added("sealed transfer of 1 MiB", new Bare(size)::there, clear, sealed, 4, warm / 10, rounds, 1.11);
        }
    }

    private static NetCosts.Operation offers(VerbsArena arena, NodeOptions options, int size)
            throws InterruptedException {
        InetSocketAddress own = new InetSocketAddress("10.9.9.1", 0);
        Node server = Node.open(own, options, arena);
        MemorySegment target = arena.allocate(size, 4096);
        Thread.ofPlatform().daemon().start(() -> {
            try {
                Channel channel = server.accept(PATIENCE);
                while (true) {
                    try (Message offer = channel.receive(PATIENCE);
                            Transfer transfer = offer.transfer()) {
                        transfer.accept(target, PATIENCE);
                    }
                }
            } catch (VerbsException | IllegalStateException | InterruptedException end) {
                return; // the row is over
            }
        });
        Channel channel = Node.open(own, options, arena).connect(server.address(), PATIENCE);
        MemorySegment data = arena.allocate(size, 4096);
        byte[] about = {};
        return () -> {
            try {
                channel.offer(data, about, PATIENCE);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };
    }

    private static void added(
            String name,
            NetCosts.Operation bare,
            NetCosts.Operation clear,
            NetCosts.Operation sealed,
            int operations,
            int warm,
            int rounds,
            double target) {
        ByTurns turns = ByTurns.measure(
                warm,
                rounds,
                () -> NetCosts.round(bare, operations),
                () -> NetCosts.round(clear, operations),
                () -> NetCosts.round(sealed, operations));
        double[] added = turns.sorted(2).clone();
        for (int i = 0; i < rounds; i++) {
            added[i] -= turns.sorted(1)[i]; // the difference of the same quantiles
        }
        row(name, turns.sorted(0), added, target);
    }

    private static void row(String name, double[] bare, double[] ours, double target) {
        System.out.printf(
                Locale.ROOT,
                "%-34s %10.1f %10.1f  %10.1f %10.1f  %5.2fx (target <= %.2fx)%n",
                name,
                bare[0],
                bare[bare.length / 2],
                ours[0],
                ours[ours.length / 2],
                ours[0] / bare[0],
                target);
    }

    private static byte[] random(int from) {
        byte[] made = new byte[NoiseHandshake.HASH_BYTES];
        Arrays.fill(made, (byte) from);
        return made;
    }

    /** Compares the handshake of both sides with two operations of X25519 a side, and four of AES-GCM. */
    private static void handshake(int warm, int rounds) {
        try {
            KeyPair pair = KeyPairGenerator.getInstance("X25519").generateKeyPair();
            Bare bare = new Bare(PAYLOAD.length);
            ByTurns turns = ByTurns.<GeneralSecurityException>measure(
                    warm,
                    rounds,
                    () -> {
                        long start = THREADS.getCurrentThreadCpuTime();
                        for (int k = 0; k < 4; k++) {
                            KeyAgreement agreement = KeyAgreement.getInstance("X25519");
                            agreement.init(pair.getPrivate());
                            agreement.doPhase(pair.getPublic(), true);
                            agreement.generateSecret();
                        }
                        bare.thereAndBack();
                        return THREADS.getCurrentThreadCpuTime() - start;
                    },
                    () -> {
                        long start = THREADS.getCurrentThreadCpuTime();
                        shake(SECRET, SECRET);
                        return THREADS.getCurrentThreadCpuTime() - start;
                    });
            row("handshake of both sides, CPU", turns.sorted(0), turns.sorted(1), 3);
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException(missing);
        }
    }

    private static void shake(byte[] one, byte[] other) {
        NoiseHandshake client = new NoiseHandshake(Pattern.NN, true, PROLOGUE, one, random(1), null);
        NoiseHandshake server = new NoiseHandshake(Pattern.NN, false, PROLOGUE, other, random(2), null);
        server.read(client.write(PAYLOAD));
        client.read(server.write(PAYLOAD));
        client.split();
        server.split();
    }

    private static byte[] hash(byte[] secret) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(secret);
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException(missing);
        }
    }

    /** The time in which a server finds out a guess, for guesses that are wrong at their ends. */
    private static void refusals(int warm, int rounds) {
        int[] wrong = {0, SECRET.length - 1, SECRET.length - 1}; // the last two are alike: what chance does
        byte[][] greetings = new byte[wrong.length][];
        for (int i = 0; i < wrong.length; i++) {
            byte[] guess = SECRET.clone();
            guess[wrong[i]] ^= 1;
            greetings[i] = new NoiseHandshake(Pattern.NN, true, PROLOGUE, hash(guess), random(1), null).write(PAYLOAD);
        }
        double[][] times = new double[wrong.length][rounds];
        for (int i = -warm; i < rounds; i++) {
            for (int k = 0; k < wrong.length; k++) {
                int turn = Math.floorMod(i + k, wrong.length); // none is always the first
                long start = System.nanoTime();
                byte[] key = hash(SECRET);
                byte[] read =
                        new NoiseHandshake(Pattern.NN, false, PROLOGUE, key, random(2), null).read(greetings[turn]);
                long end = System.nanoTime();
                if (read != null) {
                    throw new IllegalStateException("a wrong secret was taken");
                }
                if (i >= 0) {
                    times[turn][i] = end - start;
                }
            }
        }
        System.out.println(
                "ns to refuse a guess of a secret: 10%, 50%, 90%, and the largest distance of distributions");
        for (double[] each : times) {
            Arrays.sort(each);
        }
        String[] names = {"first byte wrong", "last byte wrong", "last byte wrong, again"};
        for (int k = 0; k < wrong.length; k++) {
            double[] each = times[k];
            System.out.printf(
                    Locale.ROOT,
                    "%-34s %8.0f %8.0f %8.0f  %.3f%n",
                    names[k],
                    each[rounds / 10],
                    each[rounds / 2],
                    each[rounds * 9 / 10],
                    distance(each, times[1]));
        }
    }

    /** Returns the largest difference between the shares of times up to a limit, over all limits: Kolmogorov and Smirnov. */
    private static double distance(double[] one, double[] other) {
        double largest = 0;
        int i = 0;
        int k = 0;
        while (i < one.length && k < other.length) {
            double limit = Math.min(one[i], other[k]);
            while (i < one.length && one[i] <= limit) {
                i++;
            }
            while (k < other.length && other[k] <= limit) {
                k++;
            }
            largest = Math.max(largest, Math.abs((double) i / one.length - (double) k / other.length));
        }
        return largest;
    }
}
