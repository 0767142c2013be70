package dev.verbena.internal.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The bytes that nodes send to each other: nodes of other releases rely on them. */
class WireTest {
    @Test
    void greetingHas64BytesInNetworkOrder() {
        byte[] bytes = new byte[66];
        Arrays.fill(bytes, (byte) -1);
        new Wire.Greeting(0x0123, 0x456789, 0x0abc, new byte[] {11, 12, 13}, null)
                .writeTo(MemorySegment.ofArray(bytes));
        String head = "56424e41" + "02000000" + "00000123" + "00456789" + "00000abc" + "00000003" + "0b0c0d";
        assertThat(HexFormat.of().formatHex(bytes)).isEqualTo(head + "00".repeat(64 - 27) + "ffff");
    }

    @Test
    void greetingIsReadAsItWasWritten() {
        MemorySegment message = MemorySegment.ofArray(new byte[64]);
        byte[] token = new byte[40];
        Arrays.fill(token, (byte) 9);
        new Wire.Greeting(4095, 64, 4095, token, null).writeTo(message);
        assertThat(Wire.version(message)).isEqualTo(2);
        Wire.Greeting read = Wire.readGreeting(message);
        assertThat(read).isNotNull();
        assertThat(read.window()).isEqualTo(4095);
        assertThat(read.messageSize()).isEqualTo(64);
        assertThat(read.calls()).isEqualTo(4095);
        assertThat(read.token()).isEqualTo(token);
    }

    @Test
    void limitsOutOfRangeAreNoGreeting() {
        int[][] limits = {
            {0, 64, 0, 0}, {4096, 64, 0, 0}, {1, 63, 0, 0}, {1, 64, -1, 0}, {1, 64, 4096, 0}, {1, 64, 0, 41}
        };
        for (int[] each : limits) {
            MemorySegment message = MemorySegment.ofArray(new byte[80]);
            new Wire.Greeting(each[0], each[1], each[2], new byte[each[3]], null).writeTo(message);
            assertThat(Wire.readGreeting(message)).as(Arrays.toString(each)).isNull();
        }
        MemorySegment least = MemorySegment.ofArray(new byte[64]);
        new Wire.Greeting(1, 64, 0, new byte[0], null).writeTo(least);
        assertThat(Wire.readGreeting(least)).isNotNull();
        least.set(ValueLayout.JAVA_BYTE, 20, (byte) -1); // a negative length of the token
        assertThat(Wire.readGreeting(least)).isNull();
    }

    @Test
    void bytesOfOthersHaveNoVersion() {
        MemorySegment message = MemorySegment.ofArray(new byte[64]);
        assertThat(Wire.version(message)).isEqualTo(-1);
        new Wire.Greeting(1, 64, 0, new byte[0], null).writeTo(message);
        assertThat(Wire.version(message.asSlice(0, 63))).isEqualTo(-1);
        message.set(ValueLayout.JAVA_BYTE, 4, (byte) 255);
        assertThat(Wire.version(message)).isEqualTo(255);
    }

    @Test
    void headerHas16BytesInNetworkOrder() {
        byte[] bytes = new byte[18];
        Arrays.fill(bytes, (byte) -1);
        MemorySegment message = MemorySegment.ofArray(bytes);
        Wire.writeHeader(message, 0xf5, 0x1234, 0x56789abc, -1, 7);
        assertThat(HexFormat.of().formatHex(bytes))
                .isEqualTo("f5001234" + "56789abc" + "ffffffff" + "00000007" + "ffff");
        assertThat(Wire.kind(message)).isEqualTo(0xf5);
        assertThat(Wire.call(message)).isEqualTo(0x1234);
        assertThat(Wire.granted(message)).isEqualTo(0x56789abc);
        assertThat(Wire.sequence(message)).isEqualTo(-1);
        assertThat(Wire.received(message)).isEqualTo(7);
        message.set(ValueLayout.JAVA_BYTE, 1, (byte) 1);
        assertThat(Wire.kind(message))
                .as("of a header with a byte that must be 0")
                .isEqualTo(-1);
    }

    @Test
    void claimBehindTheGreetingHasNameAndAddresses() {
        List<InetSocketAddress> paths =
                List.of(new InetSocketAddress("10.1.2.3", 0x1c06), new InetSocketAddress("fd00::9", 0xffff));
        Wire.Claim claim = new Wire.Claim(true, new UUID(1, 2), new Wire.Place(1, 3, paths));
        Wire.Greeting greeting = new Wire.Greeting(1, 64, 0, new byte[0], claim);
        byte[] bytes = new byte[greeting.bytes()];
        greeting.writeWholeTo(MemorySegment.ofArray(bytes));
        String name = "0000000000000001" + "0000000000000002";
        String mapped = "00".repeat(10) + "ffff" + "0a010203" + "1c06";
        String wide = "fd00" + "00".repeat(13) + "09" + "ffff";
        assertThat(HexFormat.of().formatHex(bytes, 64, bytes.length)).isEqualTo(name + "010302" + mapped + wide);
        assertThat(claimOf(MemorySegment.ofArray(bytes))).isEqualTo(claim);
    }

    @Test
    void flagsOfTheGreetingSayWhetherAChannelBeginsOrGoesOn() {
        assertThat(flags(null)).isZero();
        assertThat(flags(new Wire.Claim(false, new UUID(1, 2), Wire.Place.ONE))).isEqualTo(2);
        assertThat(flags(new Wire.Claim(true, new UUID(1, 2), Wire.Place.ONE))).isEqualTo(6);
    }

    private static int flags(Wire.@Nullable Claim claim) {
        return written(claim).get(ValueLayout.JAVA_BYTE, 7);
    }

    private static MemorySegment written(Wire.@Nullable Claim claim) {
        Wire.Greeting greeting = new Wire.Greeting(1, 64, 0, new byte[0], claim);
        MemorySegment message = MemorySegment.ofArray(new byte[greeting.bytes()]);
        greeting.writeWholeTo(message);
        return message;
    }

    @Test
    void eachFlagOfTheGreetingIsOneBit() {
        UUID id = new UUID(1, 2);
        MemorySegment message = written(new Wire.Claim(true, id, Wire.Place.ONE));
        Wire.ask(message);
        assertThat(message.get(ValueLayout.JAVA_BYTE, 7)).isEqualTo((byte) 7);
        for (int flags = 0; flags < 8; flags++) {
            message.set(ValueLayout.JAVA_BYTE, 7, (byte) flags);
            boolean heals = (flags & 2) != 0;
            boolean resumes = (flags & 4) != 0;
            assertThat(Wire.asks(message)).as("flags %d", flags).isEqualTo((flags & 1) != 0);
            assertThat(Wire.resumes(message)).as("flags %d", flags).isEqualTo(resumes);
            assertThat(claimOf(message))
                    .as("flags %d", flags)
                    .isEqualTo(heals ? new Wire.Claim(resumes, id, Wire.Place.ONE) : null);
        }
    }

    @Test
    void greetingsGrantsAndGoodbyesHaveNoNumber() {
        for (int kind = Wire.GREETING; kind <= Wire.NOTICE; kind++) {
            boolean counted = kind != 1 && kind != 3 && kind != 4;
            assertThat(Wire.isCounted(kind)).as("kind %d", kind).isEqualTo(counted);
        }
    }

    @Test
    void claimsAreOfOneChannelIfNameAndPurposeAreEqual() {
        Wire.Claim claim = new Wire.Claim(true, new UUID(1, 2), Wire.Place.ONE);
        assertThat(claim.isOf(new Wire.Claim(true, new UUID(1, 2), new Wire.Place(1, 2, List.of()))))
                .isTrue();
        assertThat(claim.isOf(new Wire.Claim(true, new UUID(1, 3), Wire.Place.ONE)))
                .isFalse();
        assertThat(claim.isOf(new Wire.Claim(false, new UUID(1, 2), Wire.Place.ONE)))
                .isFalse();
        assertThat(claim.isOf(null)).isFalse();
    }

    @Test
    void claimThatIsCutOrNotAnnouncedIsNone() {
        Wire.Claim claim = new Wire.Claim(false, new UUID(1, 2), Wire.Place.ONE);
        MemorySegment message = written(claim);
        assertThat(claimOf(message)).isEqualTo(claim);
        assertThat(claimOf(message.asSlice(0, message.byteSize() - 1))).isNull();
        message.set(ValueLayout.JAVA_BYTE, 7, (byte) 0);
        assertThat(claimOf(message)).isNull();
    }

    private static Wire.@Nullable Claim claimOf(MemorySegment message) {
        Wire.Greeting read = Wire.readGreeting(message);
        assertThat(read).isNotNull();
        return read.claim();
    }

    @Test
    void claimHasAtMostFourDevicesAndFourAddresses() {
        for (int devices = 4; devices <= 5; devices++) {
            for (int count = 4; count <= 5; count++) {
                List<InetSocketAddress> paths = Collections.nCopies(count, new InetSocketAddress("10.1.2.3", 1));
                Wire.Claim claim = new Wire.Claim(true, new UUID(1, 2), new Wire.Place(3, devices, paths));
                assertThat(claimOf(written(claim)))
                        .as("%d devices, %d addresses", devices, count)
                        .isEqualTo(devices + count == 8 ? claim : null);
            }
        }
    }

    @Test
    void malformedClaimIsNone() {
        Wire.Place place = new Wire.Place(0, 1, List.of(new InetSocketAddress(1)));
        MemorySegment message = written(new Wire.Claim(false, new UUID(1, 2), place));
        int[][] wrong = {{1, 1, 1}, {-1, 1, 1}, {0, 0, 1}, {0, 5, 1}, {0, 1, 2}, {0, 1, 5}, {0, 1, -1}};
        for (int[] each : wrong) { // the number of the device, that of the devices, that of the addresses
            for (int i = 0; i < each.length; i++) {
                message.set(ValueLayout.JAVA_BYTE, 80 + i, (byte) each[i]);
            }
            assertThat(claimOf(message)).as(Arrays.toString(each)).isNull();
        }
    }
}
