package strangers;

import java.util.concurrent.CountDownLatch;

/** Waits deep in a thread's stack, where a stack trace of the usual length shows no frame of the library. */
public final class Depth {
    /** More frames than a stack trace has. */
    public static final int DEEP = 1_500;

    private Depth() {}

    /** Waits for a latch this number of frames further down. */
    public static void await(int frames, CountDownLatch latch) {
        if (frames > 0) {
            await(frames - 1, latch);
            return;
        }
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
