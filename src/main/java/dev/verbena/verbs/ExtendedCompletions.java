package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.UnsupportedVerbException;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Memory;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_poll_cq_attr;
import dev.verbena.internal.raw.ibv_wc_tm_info;
import dev.verbena.verbs.device.DeviceAttributes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * A cursor over the completions of an extended queue ({@code ibv_start_poll}, {@code ibv_next_poll}). It reports the
 * fields that the queue was {@linkplain CompletionQueueOptions#fields made for}, and throws for all others.
 *
 * <p>C holds a lock of the driver from {@code ibv_start_poll} until {@code ibv_end_poll}. Here {@link #poll} calls both,
 * and copies the fields in between. None of the caller's code runs while C holds the lock, and the cursor can be read
 * until the next poll.
 *
 * <p>Where a queue reports {@linkplain CompletionField#standard standard fields} alone, and its device is no software,
 * {@link #poll} calls {@code ibv_poll_cq} instead: one call then fetches all fields of all completions.
 *
 * <p>A cursor belongs to the first thread that uses it; other threads get a {@link WrongThreadException}.
 */
@CName({
    "ibv_start_poll",
    "ibv_next_poll",
    "ibv_end_poll",
    "ibv_wc_read_opcode",
    "ibv_wc_read_vendor_err",
    "ibv_wc_read_wc_flags"
})
public final class ExtendedCompletions extends Completions {
    private static final int STATE_WORD = (int) STATUS / Long.BYTES; // the status and the opcode
    private static final int FLAGS_WORD = (int) FLAGS / Long.BYTES;
    private static final int LENGTH_WORD = (int) BYTE_LENGTH / Long.BYTES;

    private final CompletionReaders readers;
    /** True if {@code ibv_poll_cq} fetches all fields that the queue reports. */
    private final boolean plain;

    private final boolean oneByOne;
    /** True if the queue reports more than the number of bytes. */
    private final boolean reportsMore;

    private final long attributes;
    private final MemorySegment tagInfo;

    private final int[] sourceLids;
    private final long[] timestamps;
    private final long[] wallClocks;
    private final short[] vlans;
    private final int[] flowTags;
    private final long[] tags;
    private final int[] tagData;

    /**
     * Makes a cursor.
     *
     * @param plain whether {@code ibv_poll_cq} fetches the completions, whose fields are standard ones
     * @param oneByOne whether {@code ibv_next_poll} is not to be called: see {@link #take}
     */
    ExtendedCompletions(
            CompletionQueue queue,
            CompletionReaders readers,
            Set<CompletionField> fields,
            boolean plain,
            boolean oneByOne,
            int max) {
        super(queue, EnumCodec.bits(fields, field -> field.bit), max);
        Arena arena = Arena.ofAuto(); // keeps all its memory while one segment of it is reachable
        this.readers = readers;
        this.plain = plain;
        this.oneByOne = oneByOne;
        this.reportsMore = !Set.of(CompletionField.BYTE_LENGTH).containsAll(fields);
        this.attributes = ibv_poll_cq_attr.allocate(arena).address();
        this.tagInfo = ibv_wc_tm_info.allocate(arena);
        this.sourceLids = new int[reports(CompletionField.SOURCE_LID) && !plain ? max : 0];
        this.timestamps = new long[reports(CompletionField.TIMESTAMP) ? max : 0];
        this.wallClocks = new long[reports(CompletionField.WALL_CLOCK) ? max : 0];
        this.vlans = new short[reports(CompletionField.VLAN) ? max : 0];
        this.flowTags = new int[reports(CompletionField.FLOW_TAG) ? max : 0];
        this.tags = new long[reports(CompletionField.TAG_MATCHING) ? max : 0];
        this.tagData = new int[tags.length];
    }

    @Override
    int fetch() {
        if (plain) {
            return super.fetch();
        }
        ObjectLifetime open = queue.lifetime;
        int way = open.enter();
        try {
            return take();
        } finally {
            open.exit(way);
        }
    }

    /**
     * Takes completions out of the queue, at most as many as the cursor holds.
     *
     * <p>The soft-RoCE provider before rdma-core 59 unlocks twice when {@code ibv_next_poll} finds nothing more. It then
     * returns false completions or stops for ever. One completion between each start and end is right in all releases,
     * and the cost is small for a software device.
     */
    private int take() {
        int taken = 0;
        do {
            int errno = readers.start(attributes);
            if (errno != 0) {
                if (errno != Errno.ENOENT && taken == 0) {
                    throw Failures.failure("ibv_start_poll", errno, queue.toString(), CompletionQueue.BROKEN);
                }
                return taken;
            }
            try {
                do {
                    copy(taken++);
                } while (taken < max && !oneByOne && readers.next() == 0);
            } finally {
                readers.end();
            }
        } while (taken < max && oneByOne);
        return taken;
    }

    /**
     * Copies the current completion of C, in whole words. All but the status of a failed completion, its id, vendor error and
     * queue pair is undefined.
     */
    private void copy(int index) {
        long at = address + index * SIZE;
        long word = Memory.word(at);
        int status = readers.status();
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, 0), readers.id());
        if (status != 0) {
            copyFailed(at, status);
            return;
        }
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, STATE_WORD), readers.opcode.read() << Integer.SIZE);
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, FLAGS_WORD), readers.flags.read() << Integer.SIZE);
        long bytes = reports(CompletionField.BYTE_LENGTH)
                ? readers.of(CompletionField.BYTE_LENGTH).read() << Integer.SIZE
                : 0;
        Memory.LONG_AT.set(Memory.ALL, Memory.at(word, LENGTH_WORD), bytes); // and no vendor error
        if (reportsMore) {
            copyMore(index, at);
        }
    }

    private void copyFailed(long at, int status) {
        Memory.set(at + STATUS, status);
        Memory.set(at + VENDOR_ERROR, (int) readers.vendorError.read());
        if (reports(CompletionField.QUEUE_PAIR_NUMBER)) {
            word(at + QP_NUMBER, CompletionField.QUEUE_PAIR_NUMBER);
        }
    }

    private void copyMore(int index, long at) {
        if (reports(CompletionField.QUEUE_PAIR_NUMBER)) {
            word(at + QP_NUMBER, CompletionField.QUEUE_PAIR_NUMBER);
        }
        if (reports(CompletionField.IMMEDIATE)) {
            word(at + IMMEDIATE, CompletionField.IMMEDIATE);
        }
        if (reports(CompletionField.SOURCE_QUEUE_PAIR)) {
            word(at + SOURCE_QP, CompletionField.SOURCE_QUEUE_PAIR);
        }
        if (reports(CompletionField.SOURCE_LID)) {
            sourceLids[index] = (int) readers.of(CompletionField.SOURCE_LID).read();
        }
        if (reports(CompletionField.SERVICE_LEVEL)) {
            Memory.set(at + SERVICE_LEVEL, (byte)
                    readers.of(CompletionField.SERVICE_LEVEL).read());
        }
        if (reports(CompletionField.PATH_BITS)) {
            Memory.set(
                    at + PATH_BITS, (byte) readers.of(CompletionField.PATH_BITS).read());
        }
        if (reports(CompletionField.TIMESTAMP)) {
            timestamps[index] = readers.of(CompletionField.TIMESTAMP).read();
        }
        if (reports(CompletionField.WALL_CLOCK)) {
            wallClocks[index] = readers.of(CompletionField.WALL_CLOCK).read();
        }
        if (reports(CompletionField.VLAN)) {
            vlans[index] = (short) readers.of(CompletionField.VLAN).read();
        }
        if (reports(CompletionField.FLOW_TAG)) {
            flowTags[index] = (int) readers.of(CompletionField.FLOW_TAG).read();
        }
        if (reports(CompletionField.TAG_MATCHING)) {
            readers.of(CompletionField.TAG_MATCHING).read(tagInfo.address());
            tags[index] = ibv_wc_tm_info.tag(tagInfo);
            tagData[index] = ibv_wc_tm_info.priv(tagInfo);
        }
    }

    private void word(long at, CompletionField field) {
        Memory.set(at, (int) readers.of(field).read());
    }

    @Override
    int sourceLidIfKnown() {
        return sourceLids.length == 0 ? super.sourceLidIfKnown() : sourceLids[index()];
    }

    @Override
    void clearUnreported() {
        if (!plain) {
            return; // nothing was written to the other fields
        }
        long at = at(0);
        Memory.set(at + PKEY_INDEX, (short) 0);
        for (CompletionField field : CompletionField.standard()) {
            if (reports(field)) {
                continue;
            }
            switch (field) {
                case BYTE_LENGTH -> Memory.set(at + BYTE_LENGTH, 0);
                case IMMEDIATE -> Memory.set(at + IMMEDIATE, 0);
                case QUEUE_PAIR_NUMBER -> Memory.set(at + QP_NUMBER, 0);
                case SOURCE_QUEUE_PAIR -> Memory.set(at + SOURCE_QP, 0);
                case SERVICE_LEVEL -> Memory.set(at + SERVICE_LEVEL, (byte) 0);
                case PATH_BITS -> Memory.set(at + PATH_BITS, (byte) 0);
                default -> {} // the local identifier is not read from there
            }
        }
    }

    /**
     * Throws: extended queues do not report the index of the partition key.
     *
     * @throws UnsupportedVerbException always
     */
    @Override
    public int pkeyIndex() {
        throw new UnsupportedVerbException(
                "ibv_start_poll",
                queue.toString(),
                0,
                "Extended completions lack the index of the partition key: use a cursor of completions()");
    }

    /**
     * Returns the time of completion in ticks of the device's clock. {@link DeviceAttributes} has the clock's speed.
     *
     * @return the time; undefined for a failed completion
     * @throws UnsupportedVerbException if the queue was made without {@link CompletionField#TIMESTAMP}
     */
    @CName("ibv_wc_read_completion_ts")
    public long timestamp() {
        require(CompletionField.TIMESTAMP);
        return timestamps[index()];
    }

    /**
     * Returns the time of completion by the time of day.
     *
     * @return nanoseconds since 1970; undefined for a failed completion
     * @throws UnsupportedVerbException if the queue was made without {@link CompletionField#WALL_CLOCK}
     */
    @CName("ibv_wc_read_completion_wallclock_ns")
    public long wallClockNanos() {
        require(CompletionField.WALL_CLOCK);
        return wallClocks[index()];
    }

    /**
     * Returns the VLAN tag of a raw packet.
     *
     * @return 16 bits: priority and number
     * @throws UnsupportedVerbException if the queue was made without {@link CompletionField#VLAN}
     */
    @CName("ibv_wc_read_cvlan")
    public int vlan() {
        require(CompletionField.VLAN);
        return Short.toUnsignedInt(vlans[index()]);
    }

    /**
     * Returns the tag of the flow rule that a raw packet matched.
     *
     * @return the tag
     * @throws UnsupportedVerbException if the queue was made without {@link CompletionField#FLOW_TAG}
     */
    @CName("ibv_wc_read_flow_tag")
    public int flowTag() {
        require(CompletionField.FLOW_TAG);
        return flowTags[index()];
    }

    /**
     * Returns the tag of a message, from tag matching.
     *
     * @return the tag
     * @throws UnsupportedVerbException if the queue was made without {@link CompletionField#TAG_MATCHING}
     */
    @CName("ibv_wc_read_tm_info")
    public long tag() {
        require(CompletionField.TAG_MATCHING);
        return tags[index()];
    }

    /**
     * Returns the data that the sender of a tagged message added ({@code priv} of {@code struct ibv_wc_tm_info}).
     *
     * @return 32 bits
     * @throws UnsupportedVerbException if the queue was made without {@link CompletionField#TAG_MATCHING}
     */
    @CName("ibv_wc_read_tm_info")
    public int tagData() {
        require(CompletionField.TAG_MATCHING);
        return tagData[index()];
    }
}
