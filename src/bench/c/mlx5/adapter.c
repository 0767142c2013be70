/*
 * The adapter: a thread that follows the doorbell records of this process's queues, executes work entries, and writes
 * completion entries. It is as fast as it can be, because programs are measured on it, but it checks what hardware checks:
 * keys, ranges, access, states and the lengths of receives.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>

#include "mlx5.h"

#define API __attribute__((visibility("default")))
#define BLOCK 64
#define PIECES 64
#define GRH 40

enum { SIGNALED = 8, SOLICITED = 2, SOLICITED_ONLY = 1 << 24, NUMBERS = 0xffffff };

/* A piece of the memory of a process, or of an entry. */
struct piece {
	uint8_t *address;
	uint32_t length;
};

struct pieces {
	pid_t process;
	int count;
	uint64_t length;
	struct piece of[PIECES];
};

/* --- memory of this process and of others --- */

static bool fetch(pid_t process, void *to, uint64_t from, size_t size)
{
	if (process == self) {
		memcpy(to, (void *)from, size);
		return true;
	}
	struct iovec here = { to, size }, there = { (void *)from, size };
	return process_vm_readv(process, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool store(pid_t process, uint64_t to, const void *from, size_t size)
{
	if (process == self) {
		memcpy((void *)to, from, size);
		return true;
	}
	struct iovec here = { (void *)from, size }, there = { (void *)to, size };
	return process_vm_writev(process, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* Reads a record of a doorbell. What was written before it is seen after it. */
static uint32_t record(pid_t process, uint64_t address)
{
	uint32_t value = 0;
	if (process == self)
		value = __atomic_load_n((uint32_t *)address, __ATOMIC_ACQUIRE);
	else
		fetch(process, &value, address, sizeof(value));
	return be32toh(value);
}

/* Copies between two lists of pieces, of which one at least is in this process. */
static bool copy(const struct pieces *to, const struct pieces *from, uint64_t length)
{
	int i = 0, j = 0;
	uint32_t at = 0, of = 0;
	while (length > 0) {
		if (at == to->of[i].length) {
			i++;
			at = 0;
			continue;
		}
		if (of == from->of[j].length) {
			j++;
			of = 0;
			continue;
		}
		uint32_t size = to->of[i].length - at;
		if (size > from->of[j].length - of)
			size = from->of[j].length - of;
		if (size > length)
			size = length;
		uint8_t *target = to->of[i].address + at, *source = from->of[j].address + of;
		if (to->process == self ? !fetch(from->process, target, (uint64_t)source, size)
					: !store(to->process, (uint64_t)target, source, size))
			return false;
		at += size;
		of += size;
		length -= size;
	}
	return true;
}

/* Returns where a range of a region is, or NULL if the key or the range is wrong or the access not allowed. */
static uint8_t *region_of(const struct queue *queue, uint32_t key, uint64_t address, uint64_t length, uint32_t access)
{
	struct region *region = &FABRIC->regions[key >> 8];
	if (key >> 8 >= REGIONS || region->key != key || region->owner.process != queue->owner.process ||
	    region->domain != queue->domain || (region->access & access) != access)
		return NULL;
	uint64_t offset = address - region->virtual;
	if (offset > region->length || length > region->length - offset)
		return NULL;
	return (uint8_t *)(region->start + offset);
}

/* --- completions --- */

/* Adds an entry, of which all but the owner is set. */
static void complete(struct ring *ring, struct mlx5_cqe64 *entry, bool solicited)
{
	take(&ring->lock);
	if (ring->produced - ring->consumed >= ring->size) {
		uint32_t consumed = record(ring->owner.process, ring->record);
		ring->consumed = ring->produced - ((ring->produced - consumed) & NUMBERS);
	}
	if (ring->overrun || ring->produced - ring->consumed >= ring->size) {
		ring->overrun = true;
		give(&ring->lock);
		return;
	}
	uint64_t at = ring->entries + (uint64_t)(ring->produced & (ring->size - 1)) * sizeof(*entry);
	entry->op_own |= !!(ring->produced & ring->size);
	pid_t process = ring->owner.process;
	if (process == self) {
		uint64_t *from = (uint64_t *)entry, *to = (uint64_t *)at;
		for (int i = 0; i < 7; i++)
			to[i] = from[i];
		__atomic_store_n(&to[7], from[7], __ATOMIC_RELEASE);
	} else {
		store(process, at, entry, sizeof(*entry) - 1);
		store(process, at + sizeof(*entry) - 1, &entry->op_own, 1);
	}
	ring->produced++;
	if (solicited)
		ring->solicited = ring->produced;
	give(&ring->lock);
}

static void complete_send(struct queue *queue, uint8_t opcode, uint16_t counter, uint32_t length)
{
	struct mlx5_cqe64 entry = {
		.srqn_uidx = htobe32(queue->index), .byte_cnt = htobe32(length),
		.sop_drop_qpn = htobe32((uint32_t)opcode << 24 | queue->number), .wqe_counter = htobe16(counter),
		.op_own = MLX5_CQE_REQ << 4,
	};
	complete(queue->sent, &entry, false);
}

/* Adds a failed completion. Its entry has the syndrome where others have their time. */
static void complete_failed(struct queue *queue, struct ring *ring, int kind, uint16_t counter, uint8_t syndrome)
{
	union {
		struct mlx5_err_cqe failed;
		struct mlx5_cqe64 entry;
	} both = { .failed = {
		.srqn = htobe32(queue->index), .vendor_err_synd = syndrome, .syndrome = syndrome,
		.s_wqe_opcode_qpn = htobe32(queue->number), .wqe_counter = htobe16(counter), .op_own = kind << 4,
	} };
	complete(ring, &both.entry, true);
}

/* Writes an event to the channel of a queue that asked for one. */
static void answer(struct ring *ring)
{
	uint32_t asked = record(self, ring->record + 4);
	if (asked == ring->answered)
		return;
	take(&ring->lock);
	uint32_t made = asked & SOLICITED_ONLY ? ring->solicited : ring->produced;
	bool due = ((made - asked) & NUMBERS) != 0 && ((made - asked) & NUMBERS) < NUMBERS / 2;
	if (due) {
		ring->answered = asked;
		ring->events++;
	}
	give(&ring->lock);
	struct ib_uverbs_comp_event_desc event = { .cq_handle = ring->handle };
	if (due && write(ring->channel, &event, sizeof(event)) < 0)
		abort();
}

/* --- receiving --- */

/* Adds the pieces of data segments. Returns false if a key is wrong. */
static bool add_pieces(const struct queue *queue, struct pieces *pieces, const uint8_t *at, const uint8_t *end,
		       uint32_t access)
{
	while (at < end) {
		const struct mlx5_wqe_data_seg *segment = (const void *)at;
		uint32_t length = be32toh(segment->byte_count), key = be32toh(segment->lkey);
		uint8_t *address;
		if (length & MLX5_INLINE_SEG) {
			length &= ~MLX5_INLINE_SEG;
			address = (uint8_t *)at + sizeof(segment->byte_count);
			at += (sizeof(segment->byte_count) + length + 15) & ~15u;
		} else {
			if (key == MLX5_INVALID_LKEY)
				break;
			address = region_of(queue, key, be64toh(segment->addr), length, access);
			at += sizeof(*segment);
		}
		if (!address || pieces->count == PIECES)
			return false;
		pieces->of[pieces->count++] = (struct piece){ address, length };
		pieces->length += length;
	}
	return true;
}

enum result { DONE, LATER, FAILED };

/* A message at the side that responds, whose lock is held. */
struct arrival {
	uint8_t kind;
	uint32_t length, immediate;
	uint32_t sender; /* and flags */
	const struct pieces *data;
	bool placed; /* the data is in memory already: only the receive is needed */
	bool solicited;
};

/* Takes a posted receive and completes it. Sets the syndrome of the sender on failure. */
static enum result receive(struct queue *queue, const struct arrival *arrival, uint8_t *syndrome)
{
	pid_t process = queue->owner.process;
	struct shared_ring *shared = queue->shared;
	uint8_t entry[PIECES * 16] __attribute__((aligned(64)));
	uint32_t size = 1u << (shared ? shared->shift : queue->receives_shift);
	uint16_t counter;

	if (size > sizeof(entry))
		return FAILED;
	if (shared) {
		take(&shared->lock);
		if (shared->done == (uint16_t)record(process, shared->record)) {
			give(&shared->lock);
			return LATER;
		}
		counter = shared->next;
		fetch(process, entry, shared->entries + counter * size, size);
		shared->next = be16toh(((struct mlx5_wqe_srq_next_seg *)entry)->next_wqe_index);
		shared->done++;
		give(&shared->lock);
	} else {
		if (queue->receives_size == 0 || queue->receives_done == (uint16_t)record(process, queue->record))
			return LATER;
		counter = queue->receives_done++;
		fetch(process, entry, queue->receives + (counter & (queue->receives_size - 1)) * size, size);
	}
	struct pieces room = { .process = process };
	uint8_t failed = 0;
	if (!add_pieces(queue, &room, entry + (shared ? sizeof(struct mlx5_wqe_srq_next_seg) : 0), entry + size,
			IBV_ACCESS_LOCAL_WRITE))
		failed = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
	else if (!arrival->placed && arrival->length > room.length)
		failed = MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
	else if (!arrival->placed && !copy(&room, arrival->data, arrival->length))
		failed = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
	if (failed) {
		complete_failed(queue, queue->received, MLX5_CQE_RESP_ERR, counter, failed);
		queue->state = IBV_QPS_ERR;
		*syndrome = failed == MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR ? MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR
									  : MLX5_CQE_SYNDROME_REMOTE_OP_ERR;
		return FAILED;
	}
	struct mlx5_cqe64 done = {
		.srqn_uidx = htobe32(queue->index), .imm_inval_pkey = arrival->immediate,
		.flags_rqpn = htobe32(arrival->sender), .byte_cnt = htobe32(arrival->length),
		.sop_drop_qpn = htobe32(queue->number), .wqe_counter = htobe16(counter), .op_own = arrival->kind << 4,
	};
	complete(queue->received, &done, arrival->solicited);
	return DONE;
}

/* --- sending --- */

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Returns the queue pair with a number if it can respond to one of this type. */
static struct queue *peer_of(const struct queue *queue, uint32_t number)
{
	uint32_t slot = (number & NUMBERS) - FIRST_NUMBER;
	struct queue *peer = &FABRIC->queues[slot];
	if (slot >= QUEUES || !peer->owner.process || peer->type != queue->type ||
	    (peer->state != IBV_QPS_RTR && peer->state != IBV_QPS_RTS) ||
	    (queue->type != IBV_QPT_UD && peer->attributes.dest_qp_num != queue->number))
		return NULL;
	return peer;
}

/* Fetches and changes 8 bytes, under the lock of the side that responds. */
static bool change(pid_t process, uint64_t address, uint8_t opcode, const struct mlx5_wqe_atomic_seg *how, uint64_t *before)
{
	uint64_t operand = be64toh(how->swap_add), wanted = be64toh(how->compare);
	if (process == self) {
		if (opcode == MLX5_OPCODE_ATOMIC_FA) {
			*before = __atomic_fetch_add((uint64_t *)address, operand, __ATOMIC_SEQ_CST);
		} else {
			*before = wanted;
			__atomic_compare_exchange_n((uint64_t *)address, before, operand, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_SEQ_CST);
		}
		return true;
	}
	if (!fetch(process, before, address, sizeof(*before)))
		return false;
	uint64_t after = opcode == MLX5_OPCODE_ATOMIC_FA ? *before + operand : *before == wanted ? operand : *before;
	return store(process, address, &after, sizeof(after));
}

/* Does the work of an entry at the peer. */
static enum result deliver(struct queue *queue, struct queue *peer, const struct mlx5_wqe_ctrl_seg *control,
			   const uint8_t *at, const uint8_t *end, uint32_t *length, uint8_t *syndrome)
{
	uint8_t opcode = be32toh(control->opmod_idx_opcode) & 0xff;
	struct pieces local = { .process = self }, remote;
	const struct mlx5_wqe_raddr_seg *target = NULL;
	const struct mlx5_wqe_atomic_seg *how = NULL;
	bool reads = opcode == MLX5_OPCODE_RDMA_READ || opcode == MLX5_OPCODE_ATOMIC_CS || opcode == MLX5_OPCODE_ATOMIC_FA;
	uint32_t needed = 0;
	struct arrival arrival = {
		.immediate = control->imm, .sender = queue->number, .data = &local,
		.solicited = control->fm_ce_se & SOLICITED,
	};

	switch (opcode) {
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
		how = (const void *)(at + sizeof(*target));
		needed = IBV_ACCESS_REMOTE_ATOMIC;
		break;
	case MLX5_OPCODE_RDMA_READ:
		needed = IBV_ACCESS_REMOTE_READ;
		break;
	case MLX5_OPCODE_RDMA_WRITE_IMM:
		arrival.kind = MLX5_CQE_RESP_WR_IMM;
		arrival.placed = true;
		/* fall through */
	case MLX5_OPCODE_RDMA_WRITE:
		needed = IBV_ACCESS_REMOTE_WRITE;
		break;
	case MLX5_OPCODE_SEND:
		arrival.kind = MLX5_CQE_RESP_SEND;
		break;
	case MLX5_OPCODE_SEND_IMM:
		arrival.kind = MLX5_CQE_RESP_SEND_IMM;
		break;
	case MLX5_OPCODE_SEND_INVAL:
		arrival.kind = MLX5_CQE_RESP_SEND_INV;
		break;
	default:
		*syndrome = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		return FAILED;
	}
	if (needed) {
		target = (const void *)at;
		at += sizeof(*target) + (how ? sizeof(*how) : 0);
	}
	if (!add_pieces(queue, &local, at, end, reads ? IBV_ACCESS_LOCAL_WRITE : 0)) {
		*syndrome = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
		return FAILED;
	}
	*length = arrival.length = how ? 8 : local.length;
	if (needed) {
		uint64_t address = be64toh(target->raddr);
		remote.process = peer->owner.process;
		remote.count = 1;
		remote.of[0].length = *length;
		remote.of[0].address = *length == 0 ? (uint8_t *)address :
				region_of(peer, be32toh(target->rkey), address, *length, needed);
		if (!remote.of[0].address || !(peer->attributes.qp_access_flags & needed)) {
			*syndrome = MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR;
			return FAILED;
		}
		if (how && ((uint64_t)address & 7)) {
			*syndrome = MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR;
			return FAILED;
		}
	}
	bool good = true;
	uint64_t before;
	if (how) {
		struct pieces value = { .process = self, .count = 1, .of = { { (uint8_t *)&before, sizeof(before) } } };
		good = local.length >= 8 &&
		       change(remote.process, (uint64_t)remote.of[0].address, opcode, how, &before) && copy(&local, &value, 8);
	} else if (reads) {
		good = copy(&local, &remote, *length);
	} else if (needed) {
		good = copy(&remote, &local, *length);
	}
	if (!good) {
		*syndrome = MLX5_CQE_SYNDROME_REMOTE_OP_ERR;
		return FAILED;
	}
	return arrival.kind ? receive(peer, &arrival, syndrome) : DONE;
}

/* Sends a datagram, which is lost if nobody takes it. A global route header comes before it. */
static void deliver_datagram(struct queue *queue, const struct mlx5_wqe_ctrl_seg *control, const uint8_t *at,
			     const uint8_t *end, uint8_t *syndrome)
{
	const struct mlx5_wqe_datagram_seg *address = (const void *)at;
	struct pieces data = { .process = self, .count = 1, .length = GRH };
	uint8_t opcode = be32toh(control->opmod_idx_opcode) & 0xff, header[GRH] = { 0x60 };
	data.of[0] = (struct piece){ header, GRH };
	if (!add_pieces(queue, &data, at + sizeof(*address), end, 0)) {
		*syndrome = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
		return;
	}
	struct queue *peer = peer_of(queue, be32toh(address->av.dqp_dct));
	if (!peer || peer->attributes.qkey != be32toh(address->av.key.qkey.qkey))
		return;
	struct arrival arrival = {
		.kind = opcode == MLX5_OPCODE_SEND_IMM ? MLX5_CQE_RESP_SEND_IMM : MLX5_CQE_RESP_SEND,
		.length = data.length, .immediate = control->imm, .sender = queue->number | 1u << 28, .data = &data,
		.solicited = control->fm_ce_se & SOLICITED,
	};
	uint8_t lost;
	take(&peer->lock);
	receive(peer, &arrival, &lost);
	give(&peer->lock);
}

/* Tells whether a peer that is not ready has been waited for long enough, and with what the entry fails then. */
static bool is_late(struct queue *queue, bool receive_missing, uint8_t *syndrome)
{
	struct ib_uverbs_modify_qp *how = &queue->attributes;
	uint64_t patience;
	if (receive_missing) {
		if (how->rnr_retry == 7)
			return false;
		patience = (how->rnr_retry + 1ull) * 1000000;
		*syndrome = MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR;
	} else {
		if (how->timeout == 0)
			return false;
		patience = (how->retry_cnt + 1ull) * 4096 << (how->timeout & 31);
		*syndrome = MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR;
	}
	uint64_t time = now();
	if (!queue->waits_since)
		queue->waits_since = time;
	return time - queue->waits_since > patience;
}

/* Executes an entry and returns the number of its blocks, or 0 if it has to be tried again. */
static int execute(struct queue *queue)
{
	uint32_t slot = queue->sends_done & (queue->sends_size - 1);
	uint8_t turned[PIECES * 16] __attribute__((aligned(64)));
	const uint8_t *at = (uint8_t *)queue->sends + slot * BLOCK;
	const struct mlx5_wqe_ctrl_seg *control = (const void *)at;
	uint32_t size = (be32toh(control->qpn_ds) & 0x3f) * 16, blocks = (size + BLOCK - 1) / BLOCK;
	uint16_t counter = be32toh(control->opmod_idx_opcode) >> 8;
	uint8_t opcode = be32toh(control->opmod_idx_opcode) & 0xff, syndrome = 0;
	uint32_t length = 0;

	if (size == 0 || blocks > queue->sends_size)
		abort(); /* the queue was read wrongly */
	if (slot + blocks > queue->sends_size) {
		uint32_t first = (queue->sends_size - slot) * BLOCK;
		memcpy(turned, at, first);
		memcpy(turned + first, (void *)queue->sends, blocks * BLOCK - first);
		at = turned;
		control = (const void *)at;
	}
	const uint8_t *end = at + size;
	at += sizeof(*control);
	if (queue->state == IBV_QPS_ERR) {
		syndrome = MLX5_CQE_SYNDROME_WR_FLUSH_ERR;
	} else if (opcode == MLX5_OPCODE_NOP) {
		;
	} else if (queue->type == IBV_QPT_UD) {
		deliver_datagram(queue, control, at, end, &syndrome);
	} else {
		struct queue *peer = peer_of(queue, queue->attributes.dest_qp_num);
		enum result result = LATER;
		if (peer) {
			take(&peer->lock);
			result = deliver(queue, peer, control, at, end, &length, &syndrome);
			give(&peer->lock);
		}
		if (result == LATER && queue->type == IBV_QPT_RC && !is_late(queue, peer, &syndrome))
			return 0;
	}
	queue->waits_since = 0;
	if (syndrome) {
		complete_failed(queue, queue->sent, MLX5_CQE_REQ_ERR, counter, syndrome);
		queue->state = IBV_QPS_ERR;
	} else if (control->fm_ce_se & SIGNALED) {
		complete_send(queue, opcode, counter, length);
	}
	return blocks;
}

/* Completes the receives that a failed queue pair still has. */
static bool flush_receives(struct queue *queue)
{
	bool worked = false;
	take(&queue->lock);
	while (!queue->shared && queue->receives_done != (uint16_t)record(self, queue->record)) {
		complete_failed(queue, queue->received, MLX5_CQE_RESP_ERR, queue->receives_done++,
				MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
		worked = true;
	}
	give(&queue->lock);
	return worked;
}

static bool work_on(struct queue *queue)
{
	bool worked = false;
	if (queue->state != IBV_QPS_RTS && queue->state != IBV_QPS_ERR)
		return false;
	if (queue->state == IBV_QPS_ERR)
		worked = flush_receives(queue);
	for (int most = 256; most > 0 && queue->sends_done != (uint16_t)record(self, queue->record + 4); most--) {
		int blocks = execute(queue);
		if (blocks == 0)
			break;
		queue->sends_done += blocks;
		worked = true;
	}
	return worked;
}

/* --- the thread --- */

static atomic_int holds;
static atomic_bool parked = true;
static atomic_bool wanted; /* passes while held, until one has nothing to do */
static bool started;

/* The objects of this process. They change only while the adapter is held. */
static struct queue *queues[QUEUES];
static struct ring *rings[RINGS];
static int queues_count, rings_count;

static void find_objects(void)
{
	queues_count = rings_count = 0;
	for (int i = 0; i < QUEUES; i++)
		if (FABRIC->queues[i].owner.process == self)
			queues[queues_count++] = &FABRIC->queues[i];
	for (int i = 0; i < RINGS; i++)
		if (FABRIC->rings[i].owner.process == self && FABRIC->rings[i].channel >= 0)
			rings[rings_count++] = &FABRIC->rings[i];
}

/* Returns true if there was something to do. */
static bool pass(void)
{
	bool worked = false;
	for (int i = 0; i < queues_count; i++)
		worked |= work_on(queues[i]);
	for (int i = 0; i < rings_count; i++)
		answer(rings[i]);
	return worked;
}

static void rest(int *idle)
{
	static const struct timespec moment = { .tv_nsec = 50000 };
	if (++*idle > 20000)
		nanosleep(&moment, NULL);
}

static void *adapter(void *nothing)
{
	int idle = 0;
	(void)nothing;
	for (;;) {
		if (atomic_load(&holds) > 0) {
			atomic_store(&parked, true);
			while (atomic_load(&holds) > 0) {
				if (atomic_load(&wanted)) {
					while (pass())
						;
					atomic_store(&wanted, false);
					idle = 0;
				}
				rest(&idle);
			}
			atomic_store(&parked, false);
			continue; /* who began to hold it before the store has seen it parked */
		}
		if (pass())
			idle = 0;
		else
			rest(&idle);
	}
	return NULL;
}

/* Starts the adapter on the processors that this process does not use, if there are any. */
static void start(void)
{
	cpu_set_t used, others;
	pthread_attr_t how;
	pthread_t thread;
	sigset_t all, before;
	sched_getaffinity(0, sizeof(used), &used);
	CPU_ZERO(&others);
	for (int i = 0; i < sysconf(_SC_NPROCESSORS_CONF); i++)
		if (!CPU_ISSET(i, &used))
			CPU_SET(i, &others);
	pthread_attr_init(&how);
	if (CPU_COUNT(&others) > 0)
		pthread_attr_setaffinity_np(&how, sizeof(others), &others);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, &how, adapter, NULL) != 0)
		abort();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	started = true;
}

static void hold(void)
{
	atomic_fetch_add(&holds, 1);
	while (!atomic_load(&parked))
		sched_yield();
}

void adapter_hold(void)
{
	hold();
	if (!started)
		start();
}

void adapter_release(void)
{
	find_objects();
	atomic_fetch_sub(&holds, 1);
}

/* For programs that measure posts and polls alone: keeps the adapter from working, or lets it go on. */
API void mlx5_adapter_stop(void) { hold(); }

API void mlx5_adapter_start(void) { atomic_fetch_sub(&holds, 1); }

/* Lets the stopped adapter do all that is posted, and waits for the end of it. */
API void mlx5_adapter_step(void)
{
	atomic_store(&wanted, true);
	while (atomic_load(&wanted))
		;
}
