package dev.verbena.examples.nvme;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Numbers and fields of NVM Express 1.4 and NVMe over Fabrics 1.1 that target and host share. All fields are little-endian. */
final class Nvme {
    static final int CAPSULE = 64;
    static final int RESPONSE = 16;
    static final int PAGE = 4096;
    static final int CONNECT_DATA = 1024;
    static final int ADMIN_DEPTH = 32;
    static final String DISCOVERY = "nqn.2014-08.org.nvmexpress.discovery";

    /** The logical blocks of the disk have 4 KiB. */
    static final int BLOCK_SHIFT = 12;

    // Opcodes
    static final int FLUSH = 0x00, WRITE = 0x01, READ = 0x02, WRITE_ZEROES = 0x08, DATASET_MANAGEMENT = 0x09;
    static final int GET_LOG_PAGE = 0x02, IDENTIFY = 0x06, ABORT = 0x08, SET_FEATURES = 0x09, GET_FEATURES = 0x0a;
    static final int ASYNC_EVENT = 0x0c, KEEP_ALIVE = 0x18, FABRICS = 0x7f;
    static final int PROPERTY_SET = 0x00, CONNECT = 0x01, PROPERTY_GET = 0x04;

    // Kinds of descriptors of data, at byte 39 of a command
    static final int IN_CAPSULE = 0x01, KEYED = 0x40, KEYED_INVALIDATE = 0x4f;

    // Status codes
    static final int SUCCESS = 0x000, INVALID_OPCODE = 0x001, INVALID_FIELD = 0x002;
    static final int INVALID_NAMESPACE = 0x00b, SEQUENCE_ERROR = 0x00c, DATA_LENGTH = 0x00f, DESCRIPTOR_TYPE = 0x011;
    static final int DATA_OFFSET = 0x016, OUT_OF_RANGE = 0x080, EVENT_LIMIT = 0x105, INVALID_LOG_PAGE = 0x109;
    static final int CONNECT_FORMAT = 0x180, CONNECT_PARAMETER = 0x182;
    static final int DO_NOT_RETRY = 0x4000;

    // Reasons to reject a connection, in the private data
    static final int BAD_LENGTH = 1, BAD_FORMAT = 2, BAD_QUEUE = 3, BAD_DEPTH = 4, NO_RESOURCES = 6;

    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private Nvme() {}

    static int u8(MemorySegment in, long at) {
        return Byte.toUnsignedInt(in.get(ValueLayout.JAVA_BYTE, at));
    }

    static int u16(MemorySegment in, long at) {
        return Short.toUnsignedInt(in.get(SHORT, at));
    }

    static void put8(MemorySegment to, long at, int value) {
        to.set(ValueLayout.JAVA_BYTE, at, (byte) value);
    }

    static void put16(MemorySegment to, long at, int value) {
        to.set(SHORT, at, (short) value);
    }
}
