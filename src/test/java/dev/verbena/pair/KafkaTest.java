package dev.verbena.pair;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import java.io.BufferedReader;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A stock Kafka: a broker in the other guest, and Kafka's own producer and consumer that tell of each record here. */
@EngineTest
class KafkaTest {
    private static final int RECORDS = Integer.getInteger("dev.verbena.kafka.records", 100_000);
    private static final String CONFIGURATION = "src/test/engines/kafka.properties";
    private static final String BROKER = "start kafka.Kafka " + CONFIGURATION;
    private static final Pattern RECORD =
            Pattern.compile("\"name\":\"(?:producer_send_success|record_data)\".*\"value\":\"(\\d+)\"");

    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    @ParameterizedTest
    @ValueSource(strings = {"rdma", "tcp"}) // in this order: TCP's sockets stay for a minute
    void killedBrokerLosesNothingThatItHasAcknowledged(String way) throws Exception {
        Conversation peer = laboratory.start(EngineEnd.class).within(Engine.LIMIT);
        peer.say("kafka");
        peer.say(way);
        peer.ask("run kafka.tools.StorageTool format --ignore-formatted --cluster-id VerbenaVerbenaVerbenaQ --config "
                + CONFIGURATION);
        try (Engine engine = new Engine("kafka", way)) {
            peer.ask(BROKER);
            Tool producer = new Tool(
                    engine, "VerifiableProducer", way, "--acks -1 --throughput 5000 --max-messages " + RECORDS);
            Tool consumer = new Tool(engine, "VerifiableConsumer", way, "--verbose --group-id " + way);
            producer.await(RECORDS / 3);
            peer.ask("destroy");
            assertThat(producer.values.size()).as("acknowledged before").isLessThan(RECORDS);
            peer.ask(BROKER);
            producer.await(RECORDS);
            consumer.await(RECORDS);
            Set<Integer> all = IntStream.range(0, RECORDS).boxed().collect(Collectors.toSet());
            assertThat(producer.values).isEqualTo(all);
            assertThat(consumer.values).isEqualTo(all);
            engine.checkWay(Long.parseLong(peer.ask("tcp")), RECORDS / 1000);
        }
        peer.end();
    }

    /** A program of Kafka, and the values of the records that it has told of. */
    private static final class Tool {
        final Set<Integer> values = ConcurrentHashMap.newKeySet();
        private final Process process;
        private final Thread reader;
        private volatile String last = "";

        Tool(Engine engine, String name, String topic, String options) throws IOException {
            process = engine.read(("org.apache.kafka.tools." + name + " --bootstrap-server 192.0.2.2:9092 --topic "
                            + topic + " --command-config src/test/engines/kafka-clients.properties " + options)
                    .split(" "));
            reader = Thread.ofPlatform().daemon().start(this::readValues);
        }

        private void readValues() {
            try (BufferedReader lines = process.inputReader()) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    Matcher record = RECORD.matcher(line);
                    if (record.find()) {
                        values.add(Integer.parseInt(record.group(1)));
                    } else {
                        last = line;
                    }
                }
            } catch (IOException e) {
                last = e.toString();
            }
        }

        /** Waits until the program has told of a number of records. */
        void await(int count) {
            Await.until(count + " records", Engine.LIMIT, () -> {
                assertThat(values.size() >= count || reader.isAlive())
                        .as("not ended: " + last)
                        .isTrue();
                return values.size() >= count;
            });
        }
    }
}
