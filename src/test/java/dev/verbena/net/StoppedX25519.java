package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;

import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.Key;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.Security;
import java.security.spec.AlgorithmParameterSpec;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.crypto.KeyAgreement;
import javax.crypto.KeyAgreementSpi;
import javax.crypto.SecretKey;

/** Makes X25519 of this JVM take as long as a test wants. */
final class StoppedX25519 implements AutoCloseable {
    private static final String ALGORITHM = "X25519";

    private static volatile CountDownLatch gate = new CountDownLatch(0);
    private static final AtomicInteger STOPPED = new AtomicInteger();

    /** A provider that is asked before that of the JDK. */
    private static final class Stopping extends Provider {
        private static final long serialVersionUID = 1;

        Stopping() {
            super("Stopping", "1", "for a test");
            put("KeyAgreement." + ALGORITHM, Agreement.class.getName());
        }
    }

    /** The key agreement of the JDK, behind the gate. */
    public static final class Agreement extends KeyAgreementSpi {
        private final KeyAgreement real;

        /** Makes one. The JDK calls this. */
        public Agreement() throws GeneralSecurityException {
            real = KeyAgreement.getInstance(ALGORITHM, "SunEC");
        }

        @Override
        protected void engineInit(Key key, SecureRandom random) throws InvalidKeyException {
            real.init(key, random);
        }

        @Override
        protected void engineInit(Key key, AlgorithmParameterSpec parameters, SecureRandom random)
                throws InvalidKeyException {
            real.init(key, random);
        }

        @Override
        protected Key engineDoPhase(Key key, boolean last) throws InvalidKeyException {
            return real.doPhase(key, last);
        }

        @Override
        protected byte[] engineGenerateSecret() {
            STOPPED.incrementAndGet();
            try {
                if (!gate.await(DEADLINE.toSeconds(), TimeUnit.SECONDS)) {
                    throw new AssertionError("the test has forgotten this thread");
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt(); // the node is being closed
            } finally {
                STOPPED.decrementAndGet();
            }
            return real.generateSecret();
        }

        @Override
        protected int engineGenerateSecret(byte[] secret, int offset) {
            throw new UnsupportedOperationException();
        }

        @Override
        protected SecretKey engineGenerateSecret(String algorithm) {
            throw new UnsupportedOperationException();
        }
    }

    private final Provider provider = new Stopping();

    /** Stops all threads that come to X25519 from now on. */
    StoppedX25519() {
        gate = new CountDownLatch(1);
        Security.insertProviderAt(provider, 1);
    }

    /** Returns the number of threads that are stopped. */
    int count() {
        return STOPPED.get();
    }

    /** Lets all threads go on. */
    void letGo() {
        Security.removeProvider(provider.getName());
        gate.countDown();
    }

    @Override
    public void close() {
        letGo();
    }
}
