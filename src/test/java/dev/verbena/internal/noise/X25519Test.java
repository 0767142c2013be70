package dev.verbena.internal.noise;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HexFormat;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** X25519 against RFC 7748, and its points of small order. */
class X25519Test {
    private static byte[] bytes(String hex) {
        return HexFormat.of().parseHex(hex);
    }

    /** The vectors of section 5.2. The highest bit of the second point is set, and does not count. */
    @ParameterizedTest
    @CsvSource({
        "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4,"
                + "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c,"
                + "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d,"
                + "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493,"
                + "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"
    })
    void productsAreThoseOfTheRfc(String scalar, String point, String product) {
        assertThat(X25519.agree(bytes(scalar), bytes(point))).isEqualTo(bytes(product));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0000000000000000000000000000000000000000000000000000000000000000",
                "0100000000000000000000000000000000000000000000000000000000000000",
                "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
                "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
                "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
            })
    void pointsOfSmallOrderShareNothing(String point) {
        assertThat(X25519.agree(
                        bytes("4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d"), bytes(point)))
                .isNull();
    }
}
