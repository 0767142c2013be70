package dev.verbena.net;

/**
 * The size of the pieces in which a channel reads the data of transfers.
 *
 * <p>Large pieces are fast. But soft-RoCE answers a read as fast as it can, in packets of 1 KiB, and the queue of a network
 * device may have room for 1,000 packets: it drops the others. Then nothing comes until the acknowledgement timeout is over.
 * So pieces double while they come in time, and halve when one is late. On a slow link they stay so small that the adapter
 * shows signs of life.
 *
 * <p>All threads may use it at once.
 */
final class Pace {
    static final long SMALLEST = 256 << 10;
    static final long LARGEST = 4 << 20;

    /** The number of pieces that must come in time before they grow. A try that is lost costs more than one that wins. */
    private static final int TRUST = 16;

    /** The factor by which more pieces must come in time after one was late, and the most. */
    private static final int CAUTION = 4;

    private static final int MOST = 256;

    private long size = SMALLEST;

    /** The number of pieces that must come in time before they grow, and of those that have. */
    private int needed = TRUST;

    private int inTime;

    /** Returns the number of bytes of the next piece, if the data has as many. */
    synchronized long size() {
        return size;
    }

    /**
     * Notes that a piece has come.
     *
     * @param bytes the size of the piece, which may be that of an earlier time
     * @param late true if a thread has waited for the piece for so long that packets may have been lost
     */
    synchronized void arrived(long bytes, boolean late) {
        if (late) {
            if (bytes <= size) { // else pieces have become smaller since
                size = Math.max(SMALLEST, size / 2);
                needed = Math.min(MOST, CAUTION * needed);
            }
            inTime = 0;
        } else if (bytes == size && ++inTime >= needed) {
            inTime = 0;
            if (size < LARGEST) {
                size *= 2;
            } else {
                needed = TRUST;
            }
        }
    }
}
