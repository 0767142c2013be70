package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code scripts/release} makes a release, of which nothing is left if a check fails. */
class ReleaseScriptTest extends StubbedScripts {
    private static final String VERSION = "<version>\\(.*\\)</version>.*";

    /** Writes the files of a build for the version of the pom, the jar with the content that the shell's words print. */
    private static String build(String content) {
        return "mkdir -p target; echo none > target/test-classpath; v=$(sed -n '0,/<version>/s|.*" + VERSION
                + "|\\1|p' pom.xml); " + content
                + " > target/verbena-$v.jar; echo '{}' > target/verbena-$v-cyclonedx.json; "
                + "echo \"mvn $*\" >> \"$CALLS\"";
    }

    @BeforeEach
    void makeAClone() throws Exception {
        for (String file : List.of("pom.xml", "README.md", "src/docs/changes.md", ".gitignore")) {
            write(project.resolve(file), Files.readString(Path.of(file)));
        }
        write(
                project.resolve("src/docs/changes.md"),
                "# Changes\n\n## 0.2.0 (not released yet)\n\nThe first release.\n");
        stub("mvn", build("echo $v"));
        git("init", "--quiet", "--initial-branch=main");
        git("config", "user.name", "Someone");
        git("config", "user.email", "someone@example.com");
        git("add", ".");
        git("commit", "--quiet", "--message", "docs: say something");
    }

    private String git(String... words) throws Exception {
        Ended ended = run(Stream.concat(Stream.of("git"), Stream.of(words)).toArray(String[]::new))
                .succeeds();
        return ended.output();
    }

    private List<String> versions(String revision) throws Exception {
        Pattern version = Pattern.compile("(?<=<version>|^version=|^## (?=\\d)).*?(?=</version>|$)", Pattern.MULTILINE);
        return Stream.of("pom.xml", "README.md", "scripts/lib/verbena.buildspec", "src/docs/changes.md")
                .map(file -> {
                    try {
                        String text = git("show", revision + ":" + file);
                        return version.matcher(text)
                                .results()
                                .findFirst()
                                .orElseThrow()
                                .group();
                    } catch (Exception e) {
                        throw new AssertionError(file, e);
                    }
                })
                .toList();
    }

    @Test
    void releaseIsTaggedAndTheNextVersionBegins() throws Exception {
        Ended ended = run("scripts/release", "--version", "0.2.0").succeeds();
        assertThat(ended.output())
                .contains("Both builds made the same files")
                .contains(
                        "git push origin HEAD v0.2.0",
                        "dev.verbena at https://central",
                        "gpg",
                        "JDK 25: git checkout v0.2.0");
        assertThat(versions("v0.2.0"))
                .startsWith("0.2.0", "0.2.0", "0.2.0")
                .last()
                .asString()
                .matches("0\\.2\\.0 \\(\\d{4}-\\d\\d-\\d\\d\\)");
        assertThat(versions("HEAD")).containsExactly("0.3.0-SNAPSHOT", "0.2.0", "0.2.0", "0.3.0 (not released yet)");
        assertThat(git("log", "--format=%s").lines())
                .containsExactly("release: begin 0.3.0", "release: 0.2.0", "docs: say something");
        assertThat(git("status", "--porcelain")).isEmpty();
        assertThat(git("worktree", "list").lines()).hasSize(1);
        assertThat(project.resolve("target/release/verbena-0.2.0.jar")).isRegularFile();
        assertThat(calls()).contains("mvn --batch-mode --quiet -Dstyle.color=never -DskipTests -Dspotless");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0.2.0          | echo $PWD | is not reproducible",
                "0.2            | echo $v   | three numbers",
                "0.2.0-SNAPSHOT | echo $v   | three numbers"
            })
    void releaseThatFailsLeavesNothing(String version, String content, String message) throws Exception {
        stub("mvn", build(content));
        Ended ended = run("scripts/release", "--version", version);
        assertThat(ended.status()).isEqualTo(1);
        assertThat(ended.output()).contains(message).doesNotContain("Tagged");
        assertThat(git("log", "--all", "--format=%s")).isEqualTo("docs: say something\n");
        assertThat(git("tag")).isEmpty();
        assertThat(git("worktree", "list").lines()).hasSize(1);
    }

    @Test
    void releaseOfAChangedCloneIsRefused() throws Exception {
        write(project.resolve("README.md"), "changed");
        Ended ended = run("scripts/release", "--version", "0.2.0");
        assertThat(ended.output()).isEqualTo("A release needs a clone without changes: commit or stash them.\n");
        assertThat(calls()).as("Maven").isEmpty();
    }

    @Test
    void releaseIsBuiltWithTheJdkOfTheSpecification() throws Exception {
        write(folder.resolve("jdk/release"), "JAVA_VERSION=\"24.0.1\"\n");
        Ended ended = run("scripts/release", "--version", "0.2.0");
        assertThat(ended.output())
                .isEqualTo("A release is built with JDK 25, as others will build it: set JAVA_HOME.\n");
    }

    /** Without -SNAPSHOT, a local install would hide the release of that name for ever. */
    @Test
    void versionsAgree() throws IOException {
        String version = Versions.ofPom();
        Path changes = Path.of("src/docs/changes.md");
        String newest = Versions.first(Pattern.compile("(?m)^## (.*)$"), changes);
        assertThat(newest)
                .matches(
                        version.endsWith("-SNAPSHOT")
                                ? Pattern.quote(version.replace("-SNAPSHOT", "")) + " \\(not released yet\\)"
                                : Pattern.quote(version) + " \\([-\\d]+\\)");
        Pattern released = Pattern.compile("(?m)^## (\\S+) \\((?!not released yet)");
        String last = released.matcher(Files.readString(changes)).find() ? Versions.first(released, changes) : version;
        Pattern dependency = Pattern.compile("<artifactId>verbena</artifactId>\\s*<version>(.*)</version>");
        assertThat(Versions.first(dependency, Chapter.README)).isEqualTo(last);
        assertThat(Versions.first(Pattern.compile("(?m)^version=(.*)"), Path.of("scripts/lib/verbena.buildspec")))
                .isEqualTo(last.replace("-SNAPSHOT", ""));
    }

    @Test
    void specificationAgreesWithThePom() throws IOException {
        Path pom = Path.of("pom.xml");
        String specification = Files.readString(Path.of("scripts/lib/verbena.buildspec"));
        assertThat(specification.lines())
                .contains(
                        "groupId=" + Versions.first(Pattern.compile("<groupId>(.*)</groupId>"), pom),
                        "artifactId=" + Versions.first(Pattern.compile("<artifactId>(.*)</artifactId>"), pom),
                        "gitRepo=" + Versions.first(Pattern.compile("<connection>scm:git:(.*)</connection>"), pom),
                        "gitTag="
                                + Versions.first(Pattern.compile("<tag>(.*)</tag>"), pom)
                                        .replace("project.", ""));
    }
}
