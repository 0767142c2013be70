package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;
import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What peers tell each other before they connect. */
class EndpointTest {
    private static final String TEXT = "0102:000011:a3b2c1:00000000000000000000ffff0a090901";
    private static final Endpoint ENDPOINT = new Endpoint(0x11, 0xa3b2c1, 0x0102, Gid.parse("::ffff:10.9.9.1"));

    @Test
    void toBytesWritesFieldsInNetworkOrder() {
        assertThat(HexFormat.of().formatHex(ENDPOINT.toBytes()))
                .isEqualTo("0102" + "00000011" + "00a3b2c1" + "00000000000000000000ffff0a090901");
        assertThat(ENDPOINT.toBytes()).hasSize(Endpoint.BYTES);
    }

    @Test
    void fromReadsToBytes() {
        assertThat(Endpoint.from(ENDPOINT.toBytes())).isEqualTo(ENDPOINT);
        Endpoint most = new Endpoint(0xffffff, 0xffffff, 0xffff, new Gid(-1, -1));
        assertThat(Endpoint.from(most.toBytes())).isEqualTo(most);
    }

    @Test
    void toStringIsTheTextOfRcPingpong() {
        assertThat(ENDPOINT).hasToString(TEXT);
    }

    @Test
    void parseReadsTheTextOfRcPingpong() {
        assertThat(Endpoint.parse(TEXT)).isEqualTo(ENDPOINT);
        assertThat(Endpoint.parse(" " + TEXT + "\n")).isEqualTo(ENDPOINT);
        assertThat(Endpoint.parse(TEXT + "\0")).as("with the NUL that it sends").isEqualTo(ENDPOINT);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "0000:000011:a3b2c1",
                "0000:000011:a3b2c1:00",
                "0000:000011:xxxxxx:00000000000000000000ffff0a090901",
                "0000:1000000:a3b2c1:00000000000000000000ffff0a090901",
                "10000:000011:a3b2c1:00000000000000000000ffff0a090901",
                "0000:-00011:a3b2c1:00000000000000000000ffff0a090901",
                "0000:000011:a3b2c1:00000000000000000000ffff0a090901:00"
            })
    void parseRefusesOtherTextAndQuotesIt(String text) {
        assertIllegalArgument("'" + text + "'", () -> Endpoint.parse(text));
    }

    @Test
    void fromRefusesTooFewBytes() {
        assertIllegalArgument("25", () -> Endpoint.from(Arrays.copyOf(ENDPOINT.toBytes(), 25)));
    }

    @Test
    void fromRefusesInvalidBytes() {
        byte[] bytes = ENDPOINT.toBytes();
        bytes[2] = 1; // a queue pair number of 25 bits
        assertIllegalArgument("24 bits", () -> Endpoint.from(bytes));
    }

    @Test
    void constructorRefusesNumbersOutOfRange() {
        Gid gid = Gid.ZERO;
        assertIllegalArgument(() -> new Endpoint(1 << 24, 0, 0, gid));
        assertIllegalArgument(() -> new Endpoint(-1, 0, 0, gid));
        assertIllegalArgument(() -> new Endpoint(0, 1 << 24, 0, gid));
        assertIllegalArgument(() -> new Endpoint(0, 0, 1 << 16, gid));
        assertIllegalArgument(() -> new Endpoint(0, 0, -1, gid));
    }
}
