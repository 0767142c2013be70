package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tries each feature over each driver that the provider for tests can stand for, and compares the results with the chapter
 * devices.md. A feature works, works another way, or is refused with a reason that names the driver. Writes the table to
 * {@code target/devices.md}, from which the chapter can be brought up to date.
 */
@FencedTest
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@DisabledIfEnvironmentVariable(named = "VERBENA_DRIVER", matches = ".+", disabledReason = "it tries all drivers")
class DriverFeaturesTest {
    private static final List<String> DRIVERS =
            List.of("efa", "mana", "irdma", "erdma", "mlx5", "bnxt_re", "rxe", "siw");
    private static final Path CHAPTER = Path.of("src/docs/devices.md");
    private static final Path FOUND = Path.of("target/devices.md");
    private static final String BEGIN = "## What works\n";
    private static final String END = "## How this was found\n";
    private static final int WIDTH = 125;

    /** The reason of nodes, which have no atomics over iWARP at all, whatever the driver has. */
    private static final String NODES_OVER_IWARP = "iWARP has no atomics: let the peer change the number";

    private final Map<String, Map<DriverFeature, Outcome>> outcomes = new LinkedHashMap<>();

    /** The result of a try: the cell of the table, and what there is to say of it. */
    private record Outcome(String cell, String words) {}

    static Stream<Arguments> tries() {
        return DRIVERS.stream()
                .flatMap(driver -> Stream.of(DriverFeature.values()).map(feature -> Arguments.of(driver, feature)));
    }

    @AfterEach
    void giveBackTheDriver() {
        Fenced.driverAsStarted();
    }

    @ParameterizedTest
    @Order(1)
    @MethodSource("tries")
    void featureWorksOrIsRefusedWithAReason(String driver, DriverFeature feature) {
        Fenced.driver(driver);
        List<String> limits = Device.first().limits();
        Outcome outcome;
        try (VerbsArena arena = VerbsArena.ofShared()) {
            String other = feature.tryIn(arena);
            outcome = other.isEmpty() ? new Outcome("yes", "") : new Outcome("partly", other);
        } catch (Exception refused) {
            String message = String.valueOf(refused.getMessage());
            outcome = new Outcome(
                    "no",
                    Stream.concat(limits.stream(), Stream.of(NODES_OVER_IWARP))
                            .filter(message::contains)
                            .findFirst()
                            .orElseThrow(() -> new AssertionError(
                                    "The refusal names neither the driver nor what to take instead", refused)));
        }
        outcomes.computeIfAbsent(driver, any -> new EnumMap<>(DriverFeature.class))
                .put(feature, outcome);
    }

    @Test
    @Order(2)
    void chapterHasTheseResults() throws IOException {
        assertThat(outcomes).as("run all tests of this class").hasSize(DRIVERS.size());
        String found = BEGIN + "\n" + table() + "\n" + refusals();
        Files.createDirectories(FOUND.getParent());
        Files.writeString(FOUND, found);
        String chapter = Files.readString(CHAPTER);
        assertThat(chapter.substring(chapter.indexOf(BEGIN), chapter.indexOf(END)))
                .as("the section of %s, of which %s has the new text", CHAPTER, FOUND)
                .isEqualTo(found);
    }

    private String table() {
        StringBuilder text = new StringBuilder("| feature |");
        DRIVERS.forEach(driver -> text.append(" ").append(driver).append(" |"));
        text.append("\n|---|").append("---|".repeat(DRIVERS.size())).append("\n");
        for (DriverFeature feature : DriverFeature.values()) {
            text.append("| ").append(feature.words).append(" |");
            for (String driver : DRIVERS) {
                text.append(" ").append(outcomes.get(driver).get(feature).cell).append(" |");
            }
            text.append("\n");
        }
        return text.toString();
    }

    private String refusals() {
        StringBuilder text = new StringBuilder();
        outcomes.forEach((driver, results) -> {
            Map<String, List<String>> byWords = new LinkedHashMap<>();
            results.forEach((feature, outcome) -> {
                if (!outcome.words.isEmpty()) {
                    byWords.computeIfAbsent(outcome.words, any -> new ArrayList<>())
                            .add(feature.words);
                }
            });
            text.append("### ").append(driver).append("\n\n");
            byWords.forEach(
                    (words, features) -> text.append(wrapped("- " + String.join("; ", features) + " → " + words)));
            text.append(byWords.isEmpty() ? "All of the table works.\n\n" : "\n");
        });
        return text.toString();
    }

    /** Breaks an item of a list into lines. */
    private static String wrapped(String item) {
        StringBuilder text = new StringBuilder();
        StringBuilder line = new StringBuilder();
        for (String word : item.split(" ")) {
            if (line.length() + 1 + word.length() > WIDTH) {
                text.append(line).append("\n");
                line.setLength(0);
                line.append(" ");
            }
            line.append(line.isEmpty() ? "" : " ").append(word);
        }
        return text.append(line).append("\n").toString();
    }
}
