package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The list of mutants that {@code scripts/mutate} does not count as survivors. */
class EquivalentMutantsTest {
    private static final Path LIST = Path.of("src/test/resources/mutants-equivalent.tsv");
    private static final Path SOURCES = Path.of("src/main/java");
    private static final int COLUMNS = 5;

    private static Stream<List<String>> entries() throws IOException {
        return Files.readAllLines(LIST).stream()
                .filter(line -> !line.startsWith("#"))
                .map(line -> List.of(line.split("\t", -1)));
    }

    @Test
    void entriesHaveAReason() throws IOException {
        assertThat(entries())
                .isNotEmpty()
                .allSatisfy(entry -> assertThat(entry).hasSize(COLUMNS).doesNotContain(""));
    }

    @Test
    void entriesAreNotRepeated() throws IOException {
        assertThat(entries().map(entry -> entry.subList(0, COLUMNS - 1))).doesNotHaveDuplicates();
    }

    /** A change of a source makes an entry stale, which would then hide another mutant of the same line. */
    @Test
    void entriesMatchALineOfTheSources() throws IOException {
        assertThat(entries())
                .allSatisfy(entry -> assertThat(linesOf(entry.get(0))).contains(entry.get(3)));
    }

    private static List<String> linesOf(String type) throws IOException {
        Path file = SOURCES.resolve(type.replaceAll("\\$.*", "").replace('.', '/') + ".java");
        return Files.exists(file)
                ? Files.readAllLines(file).stream().map(String::strip).toList()
                : List.of();
    }
}
