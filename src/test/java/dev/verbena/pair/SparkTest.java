package dev.verbena.pair;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A stock Spark that sorts 200 MB: an executor in each guest, the master in the other one, and the driver here. */
@EngineTest
class SparkTest {
    private static final int RECORDS = Integer.getInteger("dev.verbena.spark.records", 200_000);
    private static final int PARTITIONS = 8;
    private static final String CONFIGURATION = " --properties-file src/test/engines/spark.properties ";
    private static final String MASTER = "spark://192.0.2.2:7077";
    private static final String WORKER =
            "org.apache.spark.deploy.worker.Worker --cores 1 --memory 640m --work-dir /tmp/spark" + CONFIGURATION
                    + MASTER;
    private static final String REGISTERED = "Successfully registered with master";

    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    @ParameterizedTest
    @ValueSource(strings = {"rdma", "tcp"}) // in this order: TCP's sockets stay for a minute
    void executorsInTwoGuestsSortWhatTheyExchange(String way) throws Exception {
        Conversation peer = laboratory.start(EngineEnd.class).within(Engine.LIMIT);
        peer.say("spark");
        peer.say(way);
        peer.ask("start org.apache.spark.deploy.master.Master --host 192.0.2.2 --port 7077" + CONFIGURATION);
        peer.ask("await New state: ALIVE");
        try (Engine engine = new Engine("spark", way)) {
            engine.start(WORKER.split(" "));
            engine.await(REGISTERED);
            peer.ask("start " + WORKER);
            peer.ask("await " + REGISTERED);
            Process driver = engine.read(("org.apache.spark.deploy.SparkSubmit --master " + MASTER + CONFIGURATION
                            + "--class Sort target/engines/spark/job.jar " + RECORDS + " " + PARTITIONS)
                    .split(" "));
            String said = new String(driver.getInputStream().readAllBytes());
            assertThat(driver.waitFor()).as(said).isZero();
            assertThat(said)
                    .contains("sorted " + RECORDS + " records of 1000 bytes by executors [192.0.2.1, 192.0.2.2]");
            engine.checkWay(Long.parseLong(peer.ask("tcp")), RECORDS / 20);
        }
        peer.end();
    }
}
