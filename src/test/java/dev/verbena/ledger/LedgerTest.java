package dev.verbena.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.ledger.CFunctions.CFunction;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Every function of the headers that this library is for has a place in Java, and what Java says of C is true. */
class LedgerTest {
    private final Map<String, CFunction> functions = CFunctions.all();
    private final Set<String> placed = JavaPlaces.all().stream()
            .flatMap(place -> place.functions().stream())
            .collect(Collectors.toSet());

    @Test
    void neededFunctionsArePublicInJava() {
        assertThat(functions.values().stream()
                        .filter(function -> CFunctions.HEADERS.contains(function.header()) && function.isNeeded())
                        .map(CFunction::name)
                        .filter(name -> !placed.contains(CFunctions.written(name)) && !placed.contains(name)))
                .as("functions that nothing in Java is annotated with")
                .isEmpty();
    }

    @Test
    void rareFunctionsArePublicOrHaveAReason() {
        Set<String> excused = CFunctions.leftOut().keySet();
        assertThat(functions.values().stream()
                        .filter(function -> CFunctions.HEADERS.contains(function.header()) && !function.isNeeded())
                        .map(CFunction::name)
                        .filter(name -> !placed.contains(CFunctions.written(name))
                                && !placed.contains(name)
                                && !excused.contains(CFunctions.written(name))))
                .as("functions with neither a place in Java nor a line in verbs-left-out.tsv")
                .isEmpty();
    }

    @Test
    void annotationsNameExistingFunctions() {
        assertThat(placed).isSubsetOf(functions.keySet());
    }

    @Test
    void annotatedMethodsArePublic() {
        assertThat(JavaPlaces.all().stream().filter(place -> !place.isReachable()))
                .as("annotated, but neither public nor behind close()")
                .isEmpty();
    }

    @Test
    void relationsNameExistingFunctions() {
        for (String relation : List.of("as", "needs")) {
            assertThat(CFunctions.related(relation))
                    .as(relation)
                    .isNotEmpty()
                    .allSatisfy((name, other) -> assertThat(functions).containsKeys(name, other));
        }
    }

    @Test
    void reasonsAreForRareMissingFunctionsOnly() {
        assertThat(CFunctions.leftOut()).allSatisfy((name, reason) -> {
            assertThat(functions).containsKey(name);
            assertThat(functions.get(name).isNeeded()).isFalse();
            assertThat(placed).doesNotContain(name);
            assertThat(reason).isNotBlank();
        });
    }

    /** Functions as a programmer writes them: one may be two in C. */
    private long count(String header, boolean needed) {
        return functions.values().stream()
                .filter(function -> function.header().equals(header) && function.isNeeded() == needed)
                .map(function -> CFunctions.written(function.name()))
                .distinct()
                .count();
    }

    @Test
    void guideHasTheLedgersNumbers() throws IOException {
        String guide = Files.readString(Path.of("src/docs/guide.md")).replaceAll("\\s+", " ");
        long needed = count("verbs.h", true);
        long rare = count("verbs.h", false);
        long leftOut = CFunctions.leftOut().keySet().stream()
                .filter(name -> functions.get(name).header().equals("verbs.h"))
                .count();
        assertThat(List.of(
                        "Of the " + (needed + rare) + " functions of `verbs.h`, " + (needed + rare - leftOut)
                                + " have a place",
                        "all " + needed + " of the groups core",
                        (rare - leftOut) + " of the " + rare + " rare ones",
                        "The other " + leftOut + " are left out",
                        "`rdma_cma.h` (" + (count("rdma_cma.h", true) + count("rdma_cma.h", false)) + " functions)",
                        "`rdma_verbs.h` (" + (count("rdma_verbs.h", true) + count("rdma_verbs.h", false)) + ")",
                        "`rsocket.h` (" + (count("rsocket.h", true) + count("rsocket.h", false)) + " functions)"))
                .allMatch(guide::contains);
    }
}
