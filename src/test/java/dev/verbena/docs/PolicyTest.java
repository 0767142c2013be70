package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.Rdma;
import dev.verbena.support.ChildJvm;
import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tests that {@code src/docs/policy.md} says what the build and the sources have. */
class PolicyTest {
    private static final Path POLICY = Path.of("src/docs/policy.md");
    private static final Path VERSIONS = Path.of("src/main/java/dev/verbena/internal/RdmaCoreVersion.java");

    private static final Pattern DEPRECATED = Pattern.compile("@Deprecated(\\([^)]*\\))?");

    @Test
    void packagesOfTheApiAreThoseThatTheModuleExports() throws IOException {
        String list = Versions.first(Pattern.compile("(?s)## What is API\n.*?\n\n(.*?)\n\n"), POLICY);
        assertThat(list.replaceAll("[`\\s]", "").split(","))
                .containsExactlyInAnyOrderElementsOf(
                        ModuleFinder.of(ChildJvm.place(Rdma.class))
                                .find("dev.verbena")
                                .orElseThrow()
                                .descriptor()
                                .exports()
                                .stream()
                                .map(ModuleDescriptor.Exports::source)
                                .toList());
    }

    @Test
    void oldestReleasesAreThoseOfTheBuild() throws IOException {
        assertThat(Versions.first(Pattern.compile("\\| JDK \\| (\\d+) and newer"), POLICY))
                .isEqualTo(Versions.first(
                        Pattern.compile("<maven.compiler.release>(.*)</maven.compiler.release>"), Path.of("pom.xml")));
        assertThat(Versions.first(Pattern.compile("\\| rdma-core \\| (\\d+) and newer"), POLICY))
                .isEqualTo(Versions.first(Pattern.compile("OLDEST = (\\d+);"), VERSIONS));
    }

    @Test
    void deprecatedMembersSaySinceWhenAndThatTheyGo() throws IOException {
        List<String> incomplete = new ArrayList<>();
        try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".java")).toList()) {
                for (Matcher found = DEPRECATED.matcher(Files.readString(file)); found.find(); ) {
                    if (!found.group().contains("since = ") || !found.group().contains("forRemoval = true")) {
                        incomplete.add(file + ": " + found.group());
                    }
                }
            }
        }
        assertThat(incomplete).isEmpty();
    }
}
