package dev.verbena.tools.device;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Makes maps of the lines of {@code ibv_devinfo -v}. */
class InfoFieldsTest {
    private static final String TEXT = """
            hca_id:	mlx5_0
            	transport:			InfiniBand (0)
            	fw_ver:	\s
            	max_qp:				131072
            	device_cap_flags:		0x00000006
            					BAD_PKEY_CNTR
            					Unknown flags: 0x2
            	general_odp_caps:
            					ODP_SUPPORT
            	completion_timestamp_mask not supported
            	tso_caps:
            		max_tso:			0
            		supported_qp:
            					SUPPORT_RAW_PACKET
            	num_comp_vectors:		8
            		port:	1
            			state:			PORT_ACTIVE (4)
            			GID[  0]:		fe80::1, RoCE v2
            		port:	2
            			state:			PORT_DOWN (1)

            """;

    @Test
    void jsonHasFieldsWordsGroupsAndPorts() {
        assertThat(InfoFields.json(TEXT))
                .isEqualTo(Map.ofEntries(
                        Map.entry("hca_id", "mlx5_0"),
                        Map.entry("transport", "InfiniBand (0)"),
                        Map.entry("fw_ver", ""),
                        Map.entry("max_qp", 131072L),
                        Map.entry("device_cap_flags", "0x00000006"),
                        Map.entry("device_cap_flags_names", List.of("BAD_PKEY_CNTR", "Unknown flags: 0x2")),
                        Map.entry("general_odp_caps", List.of("ODP_SUPPORT")),
                        Map.entry("completion_timestamp_mask", false),
                        Map.entry("tso_caps", Map.of("max_tso", 0L, "supported_qp", List.of("SUPPORT_RAW_PACKET"))),
                        Map.entry("num_comp_vectors", 8L),
                        Map.entry(
                                "ports",
                                List.of(
                                        Map.of("port", 1L, "state", "PORT_ACTIVE (4)", "GID[0]", "fe80::1, RoCE v2"),
                                        Map.of("port", 2L, "state", "PORT_DOWN (1)")))));
    }
}
