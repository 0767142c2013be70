package dev.verbena.mutate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.mutate.Mutant.Kind;
import dev.verbena.mutate.Result.Outcome;
import dev.verbena.support.ChildJvm;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The tool for mutants, on classes with planted ones. Each test looks at the results of the same run. */
class MutateTest {
    private static final String PLANTED = Planted.class.getName().replace('.', '/');
    private static final Duration LONG = Duration.ofSeconds(60);

    @TempDir
    private static Path folder;

    private static Coverage coverage;
    private static final List<Mutant> MUTANTS = new ArrayList<>();
    private static final List<Result> RESULTS = new ArrayList<>();

    @BeforeAll
    static void testsPlantedMutants() throws IOException, InterruptedException {
        Finder finder = new Finder(MutateTest::classFile);
        for (String type : List.of(PLANTED, PLANTED + "$Fuse", PLANTED + "$Kept")) {
            byte[] classFile = Objects.requireNonNull(classFile(type));
            Path copy = folder.resolve("classes").resolve(type + ".class");
            Files.createDirectories(copy.getParent());
            Files.write(copy, classFile);
            MUTANTS.addAll(finder.mutantsOf(classFile));
        }
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().putValue("Premain-Class", Worker.class.getName());
        manifest.getMainAttributes().putValue("Can-Retransform-Classes", "true");
        try (OutputStream out = Files.newOutputStream(folder.resolve("agent.jar"))) {
            new JarOutputStream(out, manifest).close();
        }
        coverage = Coverage.of(setup(LONG), folder.resolve("coverage.bin"));
        try (Hunt hunt = new Hunt(setup(LONG), coverage, new Costs(Set.of()), 60_000)) {
            for (Mutant mutant : MUTANTS) {
                if (!mutant.method().equals("countDown")) {
                    RESULTS.add(hunt.hunt(mutant));
                }
            }
        }
    }

    private static Setup setup(Duration patience) {
        Path tests = ChildJvm.place(PlantedTest.class);
        String pattern = "dev\\.verbena\\.mutate\\.PlantedTest";
        return new Setup(
                folder.resolve("classes"), tests, pattern, "none", "none", null, folder.resolve("agent.jar"), patience);
    }

    private static byte @Nullable [] classFile(String type) {
        try {
            Path file = ChildJvm.place(Planted.class).resolve(type + ".class");
            return Files.exists(file) ? Files.readAllBytes(file) : null;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static Stream<Result> in(String method) {
        return RESULTS.stream().filter(result -> result.mutant().method().equals(method));
    }

    private static Stream<Outcome> outcomes(String method) {
        return in(method).map(Result::outcome);
    }

    private static Predicate<Mutant> of(String method, Kind kind) {
        return mutant -> mutant.method().equals(method) && mutant.kind() == kind;
    }

    @Test
    void finderFindsAllKindsOfBugs() {
        assertThat(MUTANTS).extracting(Mutant::kind).contains(Kind.values());
    }

    @Test
    void finderChangesOneCopyOfAFinallyBlock() {
        assertThat(MUTANTS.stream().filter(of("putAndCount", Kind.CALL)).map(Mutant::what))
                .containsExactly("does not call Planted.put", "does not call List.add");
    }

    @Test
    void finderReturnsAnotherConstantAfterAFinallyBlock() {
        assertThat(MUTANTS.stream().filter(of("putAndSucceed", Kind.RETURN)).map(Mutant::what))
                .containsExactly("returns false");
    }

    @Test
    void finderLeavesOutAssertionsAndSizesOfMemory() {
        assertThat(MUTANTS.stream()
                        .filter(mutant -> mutant.method().equals("half"))
                        .map(Mutant::what))
                .containsExactlyInAnyOrder("/ is *", "2 is 3", "returns 0");
        assertThat(MUTANTS)
                .filteredOn(mutant -> mutant.method().equals("<clinit>"))
                .isEmpty();
        assertThat(MUTANTS.stream().filter(of("memory", Kind.CONSTANT)).map(Mutant::what))
                .containsExactly("1 is 0");
    }

    @Test
    void huntKillsMutantsThatTestsNotice() {
        assertThat(in("put")).isNotEmpty().allMatch(result -> result.outcome() == Outcome.KILLED);
        assertThat(in("clamp").filter(result -> result.mutant().kind() != Kind.BOUNDARY))
                .isNotEmpty()
                .allMatch(result -> result.outcome() == Outcome.KILLED);
    }

    @Test
    void huntListsEquivalentMutantsAsSurvivors() {
        assertThat(in("clamp").filter(result -> result.mutant().kind() == Kind.BOUNDARY))
                .hasSize(2)
                .allMatch(result -> result.outcome() == Outcome.SURVIVED);
    }

    @Test
    void huntListsMutantsThatNoTestNotices() {
        assertThat(outcomes("unseen")).isNotEmpty().containsOnly(Outcome.SURVIVED);
    }

    @Test
    void huntListsMutantsThatNoTestRuns() {
        assertThat(outcomes("uncovered")).isNotEmpty().containsOnly(Outcome.NOT_COVERED);
    }

    @Test
    void huntKillsMutantsOfStaticInitializers() {
        assertThat(outcomes("factor")).isNotEmpty().containsOnly(Outcome.KILLED);
    }

    @Test
    void huntKillsMutantsThatOnlyShowInWhatAClassKeeps() {
        assertThat(RESULTS.stream()
                        .filter(result -> of("<init>", Kind.CONSTANT).test(result.mutant()))
                        .filter(result -> result.mutant().type().endsWith("$Kept"))
                        .map(Result::outcome))
                .containsExactly(Outcome.KILLED);
    }

    @Test
    void finderKnowsThatTheLargestHasNoOrder() {
        assertThat(MUTANTS)
                .filteredOn(mutant -> mutant.method().equals("largest"))
                .extracting(Mutant::kind)
                .containsExactly(Kind.RETURN);
    }

    @Test
    void huntGoesOnAfterMutantsThatEndTheJvm() {
        assertThat(outcomes("haltIf")).contains(Outcome.TIMED_OUT);
    }

    @Test
    void huntBlamesNoMutantForAnother() {
        assertThat(in("blow").filter(result -> result.mutant().kind() == Kind.CHECK))
                .isNotEmpty()
                .allMatch(result -> result.outcome() == Outcome.KILLED);
        assertThat(in("unseen")).allMatch(result -> result.outcome() == Outcome.SURVIVED);
    }

    @Test
    void huntEndsTestsThatHang() throws InterruptedException {
        Mutant endless =
                MUTANTS.stream().filter(of("countDown", Kind.CALL)).findFirst().orElseThrow();
        try (Hunt hunt = new Hunt(setup(Duration.ofSeconds(1)), coverage, new Costs(Set.of()), 60_000)) {
            assertThat(hunt.hunt(endless).outcome()).isEqualTo(Outcome.TIMED_OUT);
        }
    }
}
