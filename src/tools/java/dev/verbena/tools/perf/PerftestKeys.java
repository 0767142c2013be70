package dev.verbena.tools.perf;

import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The keys that the C programs of perftest exchange: a queue pair with its GID, and the memory open to the peer.
 *
 * @param endpoint the queue pair
 * @param reads number of outstanding reads that the queue pair serves
 * @param address address of the memory
 * @param key remote key of the memory
 */
record PerftestKeys(Endpoint endpoint, int reads, long address, int key) {
    /** Length of the text in bytes, with its final NUL. */
    static final int BYTES = 108;

    private static final Pattern TEXT = Pattern.compile("([0-9a-f]{4}):([0-9a-f]{4}):([0-9a-f]{6}):([0-9a-f]{6}):"
            + "([0-9a-f]{8}):([0-9a-f]{16}):((?:[0-9a-f]{2}:){16})[0-9a-f]{8}:\0");
    private static final HexFormat HEX = HexFormat.ofDelimiter(":");

    /** Formats the keys. The last number is that of a shared receive queue, which this tool does not use. */
    byte[] toBytes() {
        return String.format(
                        Locale.ROOT,
                        "%04x:%04x:%06x:%06x:%08x:%016x:%s:%08x:\0",
                        endpoint.lid(),
                        reads,
                        endpoint.queuePairNumber(),
                        endpoint.packetSequenceNumber(),
                        key,
                        address,
                        HEX.formatHex(endpoint.gid().toBytes()),
                        0)
                .getBytes(StandardCharsets.US_ASCII);
    }

    static PerftestKeys from(byte[] bytes) throws IOException {
        Matcher text = TEXT.matcher(new String(bytes, StandardCharsets.ISO_8859_1));
        if (!text.matches()) {
            throw new IOException("the peer sent keys that are not perftest's: is it another program?");
        }
        String gid = text.group(7);
        return new PerftestKeys(
                new Endpoint(
                        number(text.group(3)),
                        number(text.group(4)),
                        number(text.group(1)),
                        Gid.from(HEX.parseHex(gid.substring(0, gid.length() - 1)))),
                number(text.group(2)),
                Long.parseUnsignedLong(text.group(6), 16),
                number(text.group(5)));
    }

    private static int number(String hex) {
        return Integer.parseUnsignedInt(hex, 16);
    }

    RemoteMemory memory(long length) {
        return new RemoteMemory(address, key, length);
    }
}
