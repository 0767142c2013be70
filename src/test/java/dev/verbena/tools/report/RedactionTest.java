package dev.verbena.tools.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that names, addresses and keys are removed from a report, and that nothing else is. */
class RedactionTest {
    private final Redaction redaction =
            new Redaction(Set.of("node7", "node7.example.org"), Set.of("5054:00ff:fe12:3456"));

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "can't connect to 10.9.9.1:18516 | can't connect to <address>:18516",
                "GID[  0]: fe80::5054:ff:fe12:3456, RoCE v1 | GID[  0]: <address>, RoCE v1",
                "GID[  1]: ::ffff:10.9.9.1 | GID[  1]: <address>",
                "a path to ::1 | a path to <address>",
                "node_guid: 5054:00ff:fe12:3456 | node_guid: <address>",
                "GUID 0c42:a103:0012:3456 here | GUID <address> here",
                "ether 52:54:00:12:34:56 | ether <address>",
                "4 KiB at 0x7f0010, lkey 0x1234, rkey 0x12ab | 4 KiB at <address>, lkey <key>, rkey <key>",
                "lkey 0xbcecb, rkey 0xFACE | lkey <key>, rkey <key>",
                "qkey: 0x11111111 | qkey: <key>",
                "port_lid: 17 | port_lid: <address>",
                "sm_lid:  0x11 | sm_lid:  <address>",
                "base_lid: 0xab | base_lid: <address>",
                "on NODE7.example.org and node7 | on <name> and <name>"
            })
    void secretsAreRemoved(String text, String redacted) {
        assertThat(redaction.of(text)).isEqualTo(redacted);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "fw_ver: 16.35.2000",
                "libibverbs.so.1.14.44.0",
                "max_mr_size: 0xffffffffffffffff",
                "device_cap_flags: 0x01223c76",
                "Linux 6.12.9-amd64, JDK 25.0.1+8-LTS",
                "ibv_reg_mr(4 KiB): ENOMEM. Locked memory is limited to 64 KiB",
                "2026-11-22",
                "node71, node7-link",
                "the key a peer needs",
                "active_mtu: 4096 (5)"
            })
    void factsAreKept(String text) {
        assertThat(redaction.of(text)).isEqualTo(text);
    }

    @Test
    void finishedTextsAreChecked() {
        assertThatIllegalStateException().isThrownBy(() -> redaction.check("guid 5054:00FF:fe12:3456"));
        assertThatCode(() -> redaction.check("guid 5054:00ff:fe12:3457")).doesNotThrowAnyException();
    }
}
