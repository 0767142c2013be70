package dev.verbena.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** The table of results that the scripts read. */
class ResultsTest {
    @Test
    void eachTestHasALine(@TempDir Path folder) throws Exception {
        // Listeners of the run around this one would count these tests.
        LauncherConfig alone = LauncherConfig.builder()
                .enableTestExecutionListenerAutoRegistration(false)
                .enableLauncherSessionListenerAutoRegistration(false)
                .build();
        LauncherFactory.create(alone)
                .execute(
                        LauncherDiscoveryRequestBuilder.request()
                                .selectors(
                                        selectClass(Outcomes.Mixed.class),
                                        selectClass(Outcomes.FailsAsAWhole.class),
                                        selectClass(Outcomes.LeftOut.class))
                                .build(),
                        new RunTests.Results(folder));
        assertThat(Files.readAllLines(folder.resolve("results")))
                .map(line -> line.replace(Outcomes.class.getName() + "$", ""))
                .containsExactlyInAnyOrder(
                        "passed\tMixed\tpasses()\t",
                        "passed\tMixed\tis [1] 1\t",
                        "failed\tMixed\tis [2] 2\texpected: 1 but was: 2",
                        "skipped\tMixed\tends()\tno device here",
                        "failed\tFailsAsAWhole\tfirst()\tno room",
                        "failed\tFailsAsAWhole\tsecond()\tno room",
                        "skipped\tLeftOut\tonly()\tnot now");
        assertThat(folder.resolve("results.new")).doesNotExist();
    }
}
