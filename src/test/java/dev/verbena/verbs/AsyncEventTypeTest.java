package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which object an asynchronous event is about, as {@code ibv_get_async_event(3)} has it. */
class AsyncEventTypeTest {
    @ParameterizedTest
    @CsvSource({
        "CQ_ERR, COMPLETION_QUEUE",
        "QP_FATAL, QUEUE_PAIR",
        "QP_REQ_ERR, QUEUE_PAIR",
        "QP_ACCESS_ERR, QUEUE_PAIR",
        "COMM_EST, QUEUE_PAIR",
        "SQ_DRAINED, QUEUE_PAIR",
        "PATH_MIG, QUEUE_PAIR",
        "PATH_MIG_ERR, QUEUE_PAIR",
        "DEVICE_FATAL, DEVICE",
        "PORT_ACTIVE, PORT",
        "PORT_ERR, PORT",
        "LID_CHANGE, PORT",
        "PKEY_CHANGE, PORT",
        "SM_CHANGE, PORT",
        "SRQ_ERR, SHARED_RECEIVE_QUEUE",
        "SRQ_LIMIT_REACHED, SHARED_RECEIVE_QUEUE",
        "QP_LAST_WQE_REACHED, QUEUE_PAIR",
        "CLIENT_REREGISTER, PORT",
        "GID_CHANGE, PORT",
        "WQ_FATAL, WORK_QUEUE",
        "DEVICE_SPEED_CHANGE, DEVICE",
        "UNKNOWN, UNKNOWN"
    })
    void eventsAreAboutTheirObject(AsyncEvent.Type type, AsyncEvent.Type.Source source) {
        assertThat(type.source()).isEqualTo(source);
        assertThat(type.code()).isLessThanOrEqualTo(20);
        assertThat(AsyncEvent.Type.of(type.code())).isEqualTo(type);
    }
}
