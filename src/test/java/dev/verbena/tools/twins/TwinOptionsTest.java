package dev.verbena.tools.twins;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.tools.ToolRun;
import dev.verbena.tools.command.Tool;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that the twins refuse wrong options as the tools do, before anything is opened. */
class TwinOptionsTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "ucmatose -p 65536",
                "ucmatose -s 127.0.0.1 -p x",
                "ucmatose -s 127.0.0.1 -a 32",
                "ucmatose -t 256",
                "ucmatose -c 0",
                "ucmatose -P udp",
                "ucmatose -f host",
                "ucmatose -f ip -s ::1",
                "ucmatose -f ip -s verbena.invalid",
                "ucmatose -f ipv6 -b 127.0.0.1",
                "ucmatose -f gid -s 10.9.9.1.1",
                "udaddy -p 5",
                "udaddy -P tcp",
                "udaddy -t x",
                "mckey -m 239.1.1.1 -p 5",
                "mckey -m 239.1.1.1 -C x",
                "mckey -M nothing -b 127.0.0.1",
                "rdma_server -p 65536",
                "rdma_client -p x"
            })
    void invalidValueReturnsTwo(String line) {
        ToolRun run = ToolRun.of(Twins.PROGRAM, line.split(" "));
        assertThat(run.status()).as(run.toString()).isEqualTo(Tool.WRONG_USAGE);
        assertThat(run.err()).startsWith("verbena " + line.split(" ")[0] + ": ").hasLineCount(1);
        assertThat(run.out()).isEmpty();
    }
}
