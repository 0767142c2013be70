/*
 * A provider for tests: libibverbs without a device, which notices what a device would suffer in silence.
 *
 * - Every object of the API has pages of its own, which are never used again: a use after its destruction is a fault.
 * - Objects count who depends on them, as the kernel does: destroying one that is in use answers EBUSY.
 * - Sends, writes, reads and atomics move bytes between the queue pairs of this process, check keys, ranges and access,
 *   and complete in order, with events where they were asked for.
 * - Any function can be made to fail at its n-th call, to take its time, or to stop until it is let go.
 * - It can stand for the driver of an adapter: it refuses, ignores and grants then what that driver does.
 * - munmap and free look whether the memory is registered (where this library is preloaded), and count a violation.
 *
 * One lock is held by each call: races of the caller are what is tested, not those of a driver.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define API __attribute__((visibility("default")))
#define PAGE 4096ul

static pthread_mutex_t big = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* --- violations: what must never happen --- */

static atomic_int violations;
static char first_violation[512];

static void violate(const char *format, ...)
{
	if (atomic_fetch_add(&violations, 1) == 0) {
		va_list arguments;
		va_start(arguments, format);
		vsnprintf(first_violation, sizeof(first_violation), format, arguments);
		va_end(arguments);
		fprintf(stderr, "fenced: %s\n", first_violation);
	}
}

API int fenced_violations(void) { return atomic_load(&violations); }

API const char *fenced_first_violation(void) { return first_violation; }

#include "fenced_drivers.c"

/* --- faults on demand --- */

enum { FAULTS = 192, LONGEST_STOP = 30 /* seconds */ };

static struct fault {
	char function[48];
	int calls_left; /* until it fails; 0 for none */
	int error;
	int refusal; /* of the driver that this stands for: see fenced_drivers.c */
	long delay_micros;
	int stopped; /* calls wait while this is set */
	int waiting; /* calls that wait */
	long calls;
} faults[FAULTS];
static atomic_int fault_count;
static int out_of_memory; /* no object can be made while this is set */

/* The fault of a call of any function but those that are spared. */
static struct {
	long calls_left; /* until it comes; 0 for none */
	int error; /* of the call that fails; 0 to lose connections before it */
	int lost; /* the sides that lose their connections: 1 those that have connected, 2 those that have accepted */
	const char *function; /* the one that it has hit; null before */
} any_fault;

static void lose_connections(int sides);

static struct fault *fault_of(const char *function)
{
	for (int i = 0; i < atomic_load(&fault_count); i++)
		if (!strcmp(faults[i].function, function))
			return &faults[i];
	if (atomic_load(&fault_count) == FAULTS)
		abort();
	struct fault *fault = &faults[fault_count];
	snprintf(fault->function, sizeof(fault->function), "%s", function);
	fault->refusal = refusal(function);
	atomic_fetch_add(&fault_count, 1);
	return fault;
}

/* Those that look for news, which nobody can count; and the one after which the memory of a transfer stays. */
static int is_spared(const char *function)
{
	return !strcmp(function, "ibv_poll_cq") || !strcmp(function, "ibv_req_notify_cq") || strstr(function, "_event") ||
	       !strcmp(function, "ibv_dereg_mr");
}

/* Enters the library with its lock held: answers the error that this call is to fail with, or 0. */
static int enter(const char *function)
{
	pthread_mutex_lock(&big);
	struct fault *fault = fault_of(function);
	fault->calls++;
	if (fault->delay_micros) {
		struct timespec time = { fault->delay_micros / 1000000, fault->delay_micros % 1000000 * 1000 };
		pthread_mutex_unlock(&big);
		nanosleep(&time, NULL);
		pthread_mutex_lock(&big);
	}
	if (fault->stopped) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += LONGEST_STOP;
		fault->waiting++;
		pthread_cond_broadcast(&changed);
		while (fault->stopped)
			if (pthread_cond_timedwait(&changed, &big, &until) == ETIMEDOUT) {
				violate("%s was stopped and nobody let it go on: is it called critically?", function);
				fault->stopped = 0;
			}
		fault->waiting--;
	}
	if (any_fault.calls_left && !is_spared(function) && --any_fault.calls_left == 0) {
		any_fault.function = function;
		if (any_fault.error)
			return any_fault.error;
		lose_connections(any_fault.lost);
	}
	if (fault->calls_left && --fault->calls_left == 0)
		return fault->error;
	return fault->refusal;
}

/* Has the provider stand for a driver, "" for none. Answers -1 if there is no such driver. */
API int fenced_driver(const char *name)
{
	pthread_mutex_lock(&big);
	int chosen = choose(name);
	for (int i = 0; i < fault_count; i++)
		faults[i].refusal = refusal(faults[i].function);
	pthread_mutex_unlock(&big);
	return chosen;
}

__attribute__((constructor)) static void choose_by_environment(void)
{
	const char *name = getenv("VERBENA_DRIVER");
	if (name && choose(name)) {
		fprintf(stderr, "fenced: no driver '%s'\n", name);
		abort();
	}
}

static void leave(void) { pthread_mutex_unlock(&big); }

/* Whether the object that is being made is to lack a function, which is said as if a call of it were to fail. */
static int lacks(const char *function)
{
	struct fault *fault = fault_of(function);
	return fault->calls_left && --fault->calls_left == 0;
}

/* For functions that answer a pointer. */
static void *refuse(int error)
{
	leave();
	errno = error;
	return NULL;
}

/* For functions that answer an error number. */
static int answer(int error)
{
	leave();
	return error;
}

/* The nth call from now on, counted from 1, fails; 0 takes that back. */
API void fenced_fail(const char *function, int nth, int error)
{
	pthread_mutex_lock(&big);
	struct fault *fault = fault_of(function);
	fault->calls_left = nth;
	fault->error = error;
	pthread_mutex_unlock(&big);
}

/* The nth call of any function from now on fails; or if there is no error, sides lose their connections before it. */
API void fenced_fail_any(long nth, int error, int lost)
{
	pthread_mutex_lock(&big);
	any_fault.calls_left = nth;
	any_fault.error = error;
	any_fault.lost = lost;
	any_fault.function = NULL;
	pthread_mutex_unlock(&big);
}

/* The function that the fault of any function has hit; null before. */
API const char *fenced_hit(void)
{
	pthread_mutex_lock(&big);
	const char *function = any_fault.function;
	pthread_mutex_unlock(&big);
	return function;
}

API void fenced_delay(const char *function, long micros)
{
	pthread_mutex_lock(&big);
	fault_of(function)->delay_micros = micros;
	pthread_mutex_unlock(&big);
}

API void fenced_stop(const char *function)
{
	pthread_mutex_lock(&big);
	fault_of(function)->stopped = 1;
	pthread_mutex_unlock(&big);
}

API void fenced_go_on(const char *function)
{
	pthread_mutex_lock(&big);
	fault_of(function)->stopped = 0;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&big);
}

/* How many calls of a stopped function wait. */
API int fenced_waiting(const char *function)
{
	pthread_mutex_lock(&big);
	int waiting = fault_of(function)->waiting;
	pthread_mutex_unlock(&big);
	return waiting;
}

API long fenced_calls(const char *function)
{
	pthread_mutex_lock(&big);
	long calls = fault_of(function)->calls;
	pthread_mutex_unlock(&big);
	return calls;
}

/* From now on no object can be made: functions that make one answer ENOMEM. 0 ends that. */
API void fenced_out_of_memory(int on)
{
	pthread_mutex_lock(&big);
	out_of_memory = on;
	pthread_mutex_unlock(&big);
}

#include "fenced_structs.c"

/* Takes back all faults and answers. */
API void fenced_calm(void)
{
	pthread_mutex_lock(&big);
	forget_blocks();
	for (int i = 0; i < fault_count; i++) {
		faults[i].calls_left = faults[i].stopped = 0;
		faults[i].delay_micros = 0;
		faults[i].calls = 0;
	}
	out_of_memory = 0;
	any_fault.calls_left = 0;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&big);
}

/* --- pages that are never used again --- */

/* Zeroed memory for what has no way to fail. */
static void *always(size_t count, size_t size)
{
	void *memory = calloc(count, size);
	if (!memory) {
		fprintf(stderr, "fenced: no memory for %zu times %zu bytes\n", count, size);
		abort();
	}
	return memory;
}

static char *next_page, *end_of_pages;

static void *pages(size_t size)
{
	size_t reserve = 1ul << 38;
	if (size > reserve - PAGE)
		return NULL;
	size = (size + PAGE - 1) & ~(PAGE - 1);
	if (!next_page || next_page + size > end_of_pages) {
		next_page = mmap(NULL, reserve, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (next_page == MAP_FAILED)
			abort();
		end_of_pages = next_page + reserve;
	}
	char *memory = next_page;
	next_page += size + PAGE; /* a page between any two */
	if (mprotect(memory, size, PROT_READ | PROT_WRITE))
		return NULL;
	return memory;
}

static void fence(void *memory, size_t size)
{
	size = (size + PAGE - 1) & ~(PAGE - 1);
	if (mmap(memory, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort();
}

/* --- objects --- */

enum kind {
	CONTEXT, PD, MR, MW, CQ, CHANNEL, QP, SRQ, AH, TD, DM, XRCD, WQ, TABLE, FLOW, COUNTERS, BUF, DMAH, COUNTER,
	CM_CHANNEL, CM_ID, KINDS
};

static const char *const kind_names[KINDS] = {
	"context", "protection domain", "memory region", "memory window", "completion queue", "completion channel",
	"queue pair", "shared receive queue", "address handle", "thread domain", "device memory", "XRC domain",
	"work queue", "indirection table", "flow", "counters", "DMA buffer", "DMA handle", "completion counter",
	"event channel", "id",
};

static int live[KINDS];

struct fenced_pd {
	struct ibv_pd ibv;
	struct ibv_pd *root; /* of a parent domain */
	struct fenced_td *td;
	int imported;
	int unprotected; /* a parent domain whose buffers are DMA buffers */
	int users;
	struct fenced_pd *next;
};

struct fenced_td {
	struct ibv_td ibv;
	int users;
};

struct fenced_mr {
	struct ibv_mr ibv;
	struct fenced_pd *pd;
	int *more_users; /* those of the adapter's memory, or of the driver's buffer, that it is in */
	int *dmah_users;
	uint64_t iova;
	int access;
	int users; /* windows that are bound to it */
	struct fenced_mr *next;
};

struct fenced_mw {
	struct ibv_mw ibv;
	struct fenced_mr *mr;
	uint64_t address, length;
	int access;
	uint32_t qp_num; /* of a bound window of type 2 */
	struct fenced_mw *next;
};

struct fenced_channel {
	struct ibv_comp_channel ibv;
	struct ibv_cq *queue[4096];
	unsigned head, tail;
	int users;
};

struct fenced_cq {
	struct ibv_cq_ex ibv; /* begins like a struct ibv_cq */
	struct ibv_wc *done;
	unsigned head, tail, size; /* of done, a power of two */
	int users;
	int asked; /* 0, 1 for any, 2 for solicited */
	unsigned events, acknowledged;
	int polling;
	struct ibv_wc current;
	int overrun;
};

struct work {
	struct ibv_send_wr send;
	uint64_t id;
	struct ibv_sge *pieces;
	int count;
	char *inlined; /* data that was copied when it was posted */
	struct work *next;
};

struct queue {
	struct work *first, **end;
	unsigned length, depth;
};

struct fenced_srq {
	struct ibv_srq ibv;
	struct queue receives;
	uint32_t max_sge, limit;
	struct ibv_xrcd *xrcd;
	struct ibv_cq *cq;
	int users;
};

enum { COUNTED = 6 }; /* operations that completion counters can count */

struct fenced_qp {
	struct ibv_qp_ex ibv;
	void *more_functions[4]; /* that newer headers have in struct ibv_qp_ex */
	struct queue sends, receives;
	struct fenced_srq *srq;
	struct ibv_qp_cap cap;
	struct ibv_qp_attr attr;
	int sq_sig_all;
	int extended;
	struct ibv_xrcd *xrcd;
	struct ibv_rwq_ind_table *table;
	int busy; /* its sends are being carried out */
	struct { union ibv_gid gid; uint16_t lid; } groups[16]; /* that it is attached to */
	int attached;
	int users; /* flow rules */
	struct fenced_counter *counters[COUNTED]; /* by the bit of the operation that each counts */
	struct fenced_qp *next;
	/* ibv_wr_start ... */
	struct ibv_send_wr building[256];
	struct ibv_sge pieces[256][16];
	char inlined[256][256];
	int built, error;
};

struct fenced_ah {
	struct ibv_ah ibv;
	struct ibv_ah_attr attr;
};

struct fenced_async {
	struct ibv_async_event event;
	struct fenced_async *next;
};

struct fenced_context {
	struct verbs_context all;
	struct fenced_async *first, **end;
	struct fenced_async *taken; /* events that were not acknowledged */
	int users;
	struct fenced_context *next;
};

static struct fenced_context *contexts;

static struct fenced_pd *domains;
static struct fenced_mr *regions;
static struct fenced_mw *windows;
static struct fenced_qp *queue_pairs;
static uint32_t next_number = 0x11, next_key = 0x100, next_handle = 1;
static long rnr;
static long moved;

static struct fenced_context *of(struct ibv_context *context)
{
	return (struct fenced_context *)((char *)context - offsetof(struct verbs_context, context));
}

API int fenced_live(int kind)
{
	pthread_mutex_lock(&big);
	int count = 0;
	for (int i = 0; i < KINDS; i++)
		if (kind < 0 || kind == i)
			count += live[i];
	pthread_mutex_unlock(&big);
	return count;
}

/* The objects that exist, such as "1 context, 2 queue pair", in memory for a text of size bytes. */
API void fenced_left(char *text, size_t size)
{
	size_t at = 0;
	text[0] = 0;
	pthread_mutex_lock(&big);
	for (int i = 0; i < KINDS; i++)
		if (live[i] && at < size)
			at += (size_t)snprintf(text + at, size - at, "%s%d %s", at ? ", " : "", live[i], kind_names[i]);
	pthread_mutex_unlock(&big);
}

/* Sends that found no receive at the peer, and had to wait for one. */
API long fenced_rnr(void) { return rnr; }

API long fenced_bytes_moved(void) { return moved; }

static void *make(enum kind kind, size_t size)
{
	void *memory = out_of_memory ? NULL : pages(size);
	if (memory)
		live[kind]++;
	return memory;
}

static void unmake(enum kind kind, void *memory, size_t size)
{
	live[kind]--;
	fence(memory, size);
}

static void note(const char *attribute, uint64_t value);

/* --- registered memory, and who frees it --- */

/* Whether a region is the whole address space, by implicit on-demand paging. */
static int whole(struct fenced_mr *mr) { return mr->ibv.length == SIZE_MAX; }

enum { SPANS = 1 << 16, MOST_COMPLETIONS = 1 << 16 };
/* Written under the lock, read without it: "changes" is odd while a span changes. */
static struct { atomic_uint changes; _Atomic uintptr_t start, end; } spans[SPANS];
static atomic_int span_count;

static void set_span(int i, uintptr_t start, uintptr_t end)
{
	atomic_fetch_add(&spans[i].changes, 1);
	atomic_store(&spans[i].start, start);
	atomic_store(&spans[i].end, end);
	atomic_fetch_add(&spans[i].changes, 1);
}

static void add_span(struct fenced_mr *mr)
{
	uintptr_t start = (uintptr_t)mr->ibv.addr;
	if (!mr->ibv.length || whole(mr)) /* the whole address space pins nothing */
		return;
	for (int i = 0; i < SPANS; i++) {
		if (!atomic_load(&spans[i].end)) {
			set_span(i, start, start + mr->ibv.length);
			if (i >= span_count)
				atomic_store(&span_count, i + 1);
			return;
		}
	}
}

static void remove_span(struct fenced_mr *mr)
{
	uintptr_t start = (uintptr_t)mr->ibv.addr;
	for (int i = 0; i < span_count; i++) {
		if (atomic_load(&spans[i].start) == start && atomic_load(&spans[i].end) == start + mr->ibv.length) {
			set_span(i, 0, 0);
			break;
		}
	}
	int count = span_count;
	while (count && !atomic_load(&spans[count - 1].end))
		count--;
	atomic_store(&span_count, count); /* each free of the process looks at so many */
}

static void look(const char *what, uintptr_t start, uintptr_t end)
{
	for (int i = 0, n = atomic_load(&span_count); i < n; i++) {
		unsigned int changes;
		uintptr_t from, to;
		do {
			while ((changes = atomic_load(&spans[i].changes)) & 1)
				sched_yield();
			from = atomic_load(&spans[i].start);
			to = atomic_load(&spans[i].end);
		} while (atomic_load(&spans[i].changes) != changes);
		if (to && from < end && start < to)
			violate("%s of memory at %#lx that is registered from %#lx to %#lx", what, (unsigned long)start,
				(unsigned long)from, (unsigned long)to);
	}
}

#ifdef INTERPOSE
extern void __libc_free(void *);

API void free(void *memory)
{
	if (memory && atomic_load_explicit(&span_count, memory_order_relaxed))
		look("free", (uintptr_t)memory, (uintptr_t)memory + malloc_usable_size(memory));
	__libc_free(memory);
}

API int munmap(void *memory, size_t length)
{
	if (atomic_load_explicit(&span_count, memory_order_relaxed))
		look("munmap", (uintptr_t)memory, (uintptr_t)memory + length);
	return (int)syscall(SYS_munmap, memory, length);
}
#endif

/* --- completion --- */

static void signal_fd(int fd)
{
	uint64_t one = 1;
	if (write(fd, &one, sizeof(one)) < 0)
		violate("eventfd: %s", strerror(errno));
}

static int take_fd(int fd)
{
	uint64_t one;
	return read(fd, &one, sizeof(one)) == sizeof(one) ? 0 : -1;
}

static void raise_async(struct ibv_context *context, enum ibv_event_type type, void *element)
{
	struct fenced_context *it = of(context);
	struct fenced_async *async = always(1, sizeof(*async));
	async->event.event_type = type;
	async->event.element.qp = element;
	*it->end = async;
	it->end = &async->next;
	signal_fd(context->async_fd);
}

/* Waits until the events of an object that were taken are acknowledged, as libibverbs does. */
static void await_acknowledged(struct fenced_context *it, void *element)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	for (;;) {
		struct fenced_async *async = it->taken;
		while (async && async->event.element.qp != element)
			async = async->next;
		if (!async)
			return;
		if (pthread_cond_timedwait(&changed, &big, &until) == ETIMEDOUT) {
			violate("an object is destroyed, and nobody acknowledges its event %d", async->event.event_type);
			return;
		}
	}
}

/* Events of an object that is destroyed are gone with it. */
static void forget_async(struct ibv_context *context, void *element)
{
	struct fenced_context *it = of(context);
	struct fenced_async **at = &it->first;
	while (*at) {
		struct fenced_async *async = *at;
		if (async->event.element.qp == element) {
			uint64_t one;
			int flags = fcntl(context->async_fd, F_GETFL);
			fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK);
			int theirs = read(context->async_fd, &one, sizeof(one)) < 0;
			fcntl(context->async_fd, F_SETFL, flags);
			if (theirs) { /* another thread has read for it, and waits for the lock */
				pthread_cond_wait(&changed, &big);
				at = &it->first;
				continue;
			}
			*at = async->next;
			free(async);
		} else {
			at = &async->next;
		}
	}
	it->end = at;
	await_acknowledged(it, element);
}

static void complete(struct ibv_cq *ibcq, const struct ibv_wc *wc, int solicited)
{
	struct fenced_cq *cq = (struct fenced_cq *)ibcq;
	if (cq->tail - cq->head == cq->size) {
		if (!cq->overrun++)
			raise_async(ibcq->context, IBV_EVENT_CQ_ERR, ibcq);
		return;
	}
	cq->done[cq->tail++ & (cq->size - 1)] = *wc;
	if (cq->asked && ibcq->channel && (cq->asked == 1 || solicited || wc->status != IBV_WC_SUCCESS)) {
		struct fenced_channel *channel = (struct fenced_channel *)ibcq->channel;
		cq->asked = 0;
		channel->queue[channel->tail++ % 4096] = ibcq;
		cq->events++;
		signal_fd(ibcq->channel->fd);
	}
}

static void append(struct queue *queue, struct work *work)
{
	work->next = NULL;
	*queue->end = work;
	queue->end = &work->next;
	queue->length++;
}

static struct work *take(struct queue *queue)
{
	struct work *work = queue->first;
	if (work) {
		queue->first = work->next;
		if (!queue->first)
			queue->end = &queue->first;
		queue->length--;
	}
	return work;
}

static void discard(struct work *work)
{
	free(work->pieces);
	free(work->inlined);
	free(work);
}

static void drop(struct queue *queue)
{
	struct work *work;
	while ((work = take(queue)))
		discard(work);
}

enum { WR_FLUSH = 14, WC_TSO = 7, WC_FLUSH = 8, WC_ATOMIC_WRITE = 9 }; /* older headers lack some of them */

static enum ibv_wc_opcode done_opcode(enum ibv_wr_opcode opcode)
{
	switch ((int)opcode) {
	case IBV_WR_TSO:
		return (enum ibv_wc_opcode)WC_TSO;
	case WR_FLUSH:
		return (enum ibv_wc_opcode)WC_FLUSH;
	case IBV_WR_ATOMIC_WRITE:
		return (enum ibv_wc_opcode)WC_ATOMIC_WRITE;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case IBV_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	default:
		return IBV_WC_SEND;
	}
}

/* Every field has a value of its own, so that a reader of a neighbour is found out. */
static struct ibv_wc wc_of(struct fenced_qp *qp, uint64_t id, enum ibv_wc_status status, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = {
		.wr_id = id, .status = status, .opcode = opcode, .qp_num = qp->ibv.qp_base.qp_num,
		.vendor_err = status == IBV_WC_SUCCESS ? 0 : 0x77,
	};
	return wc;
}

static void count(struct fenced_qp *qp, int operation, enum ibv_wc_status status, uint64_t bytes);

/* The bits of enum ibv_qp_attach_comp_cntr_op. */
static int counted(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
		return 1;
	case IBV_WR_RDMA_READ:
		return 1 << 2;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return 1 << 4;
	default:
		return 0;
	}
}

static void finish_send(struct fenced_qp *qp, struct work *work, enum ibv_wc_status status, uint32_t bytes)
{
	if (status != IBV_WC_SUCCESS || work->send.send_flags & IBV_SEND_SIGNALED || qp->sq_sig_all) {
		struct ibv_wc wc = wc_of(qp, work->id, status, done_opcode(work->send.opcode));
		wc.byte_len = bytes;
		complete(qp->ibv.qp_base.send_cq, &wc, 0);
	}
	count(qp, counted(work->send.opcode), status, bytes);
	discard(work);
}

static void flush(struct fenced_qp *qp)
{
	struct work *work;
	while ((work = take(&qp->sends)))
		finish_send(qp, work, IBV_WC_WR_FLUSH_ERR, 0);
	while ((work = take(&qp->receives))) {
		struct ibv_wc wc = wc_of(qp, work->id, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV);
		complete(qp->ibv.qp_base.recv_cq, &wc, 0);
		count(qp, 1 << 1, IBV_WC_WR_FLUSH_ERR, 0);
		discard(work);
	}
}

static void fail_pair(struct fenced_qp *qp)
{
	if (qp->ibv.qp_base.state == IBV_QPS_ERR)
		return;
	qp->ibv.qp_base.state = qp->attr.qp_state = IBV_QPS_ERR;
	if (!qp->busy) /* else the request that failed it comes first: progress() flushes the others */
		flush(qp);
	if (qp->srq)
		raise_async(qp->ibv.qp_base.context, IBV_EVENT_QP_LAST_WQE_REACHED, &qp->ibv.qp_base);
}

/* --- moving bytes --- */

static struct fenced_mr *region(uint32_t key)
{
	for (struct fenced_mr *mr = regions; mr; mr = mr->next)
		if (mr->ibv.lkey == key)
			return mr;
	return NULL;
}

static struct ibv_pd *root(struct ibv_pd *pd)
{
	struct fenced_pd *it = (struct fenced_pd *)pd;
	return it->root ? it->root : pd;
}

/* The memory of a piece; null if the key does not open it. */
static char *local(struct ibv_pd *pd, const struct ibv_sge *piece, int write)
{
	struct fenced_mr *mr = region(piece->lkey);
	if (!mr || root(mr->ibv.pd) != root(pd) || (write && !(mr->access & IBV_ACCESS_LOCAL_WRITE)) ||
	    piece->addr < mr->iova || piece->addr - mr->iova > mr->ibv.length ||
	    mr->ibv.length - (piece->addr - mr->iova) < piece->length)
		return NULL;
	return (char *)mr->ibv.addr + (piece->addr - mr->iova);
}

static char *remote(struct fenced_qp *target, uint64_t address, uint64_t length, uint32_t key, int access)
{
	for (struct fenced_mr *mr = regions; mr; mr = mr->next)
		if (mr->ibv.rkey == key)
			return root(mr->ibv.pd) == root(target->ibv.qp_base.pd) && (mr->access & access) == access &&
					(target->attr.qp_access_flags & access) == (unsigned)access && address >= mr->iova &&
					address - mr->iova <= mr->ibv.length && mr->ibv.length - (address - mr->iova) >= length
				? (char *)mr->ibv.addr + (address - mr->iova) : NULL;
	for (struct fenced_mw *mw = windows; mw; mw = mw->next)
		if (mw->ibv.rkey == key && mw->mr)
			return root(mw->ibv.pd) == root(target->ibv.qp_base.pd) && (mw->access & access) == access &&
					address >= mw->address && address - mw->address <= mw->length &&
					mw->length - (address - mw->address) >= length
				? (char *)mw->mr->ibv.addr + (address - mw->mr->iova) : NULL;
	return NULL;
}

static struct fenced_qp *pair(uint32_t number)
{
	for (struct fenced_qp *qp = queue_pairs; qp; qp = qp->next)
		if (qp->ibv.qp_base.qp_num == number)
			return qp;
	return NULL;
}

static uint64_t length_of(struct work *work)
{
	uint64_t length = 0;
	for (int i = 0; i < work->count; i++)
		length += work->pieces[i].length;
	return length;
}

/* Copies between the pieces of a request and one place; answers 0 if a key does not open a piece. */
static int scatter(struct fenced_qp *qp, struct work *work, char *place, uint64_t length, int into_pieces)
{
	for (int i = 0; i < work->count && length; i++) {
		uint64_t part = work->pieces[i].length < length ? work->pieces[i].length : length;
		char *memory;
		if (work->inlined && !into_pieces)
			memory = work->inlined + (work->pieces[i].addr - work->pieces[0].addr);
		else
			memory = local(qp->ibv.qp_base.pd, &work->pieces[i], into_pieces);
		if (!memory)
			return 0;
		if (into_pieces)
			memcpy(memory, place, part);
		else
			memcpy(place, memory, part);
		place += part;
		length -= part;
		moved += (long)part;
	}
	return 1;
}

static int checks_locally(struct fenced_qp *qp, struct work *work, int write)
{
	if (work->inlined)
		return 1;
	for (int i = 0; i < work->count; i++)
		if (work->pieces[i].length && !local(qp->ibv.qp_base.pd, &work->pieces[i], write))
			return 0;
	return 1;
}

static struct queue *receives_of(struct fenced_qp *qp) { return qp->srq ? &qp->srq->receives : &qp->receives; }

/* As RoCE v2 over IPv4 leaves it: 20 bytes of nothing, then an IPv4 header with its checksum. */
static void fill_header(char *buffer, uint64_t length)
{
	unsigned char *ip = (unsigned char *)buffer + 20;
	static const unsigned char address[4] = { 10, 9, 9, 1 };
	uint32_t total = (uint32_t)(20 + length), sum = 0;
	ip[0] = 0x45;
	ip[2] = (unsigned char)(total >> 8);
	ip[3] = (unsigned char)total;
	ip[8] = 64;
	ip[9] = 17;
	memcpy(ip + 12, address, 4);
	memcpy(ip + 16, address, 4);
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[10] = (unsigned char)(sum >> 8);
	ip[11] = (unsigned char)sum;
}

/* Delivers into the next receive of the peer's; answers -1 if there is none. */
static int deliver(struct fenced_qp *from, struct work *work, struct fenced_qp *to, uint64_t length, int with_data)
{
	struct queue *queue = receives_of(to);
	struct work *receive = queue->first;
	if (!receive)
		return -1;
	int datagram = to->ibv.qp_base.qp_type == IBV_QPT_UD;
	uint64_t header = datagram ? 40 : 0;
	struct ibv_wc wc = wc_of(to, receive->id, IBV_WC_SUCCESS,
		with_data ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM);
	int status = IBV_WC_SUCCESS;
	if (with_data) {
		char *buffer = always(1, header + length + 1);
		if (datagram)
			fill_header(buffer, length);
		if (!scatter(from, work, buffer + header, length, 0))
			status = IBV_WC_LOC_PROT_ERR;
		else if (header + length > length_of(receive))
			wc.status = IBV_WC_LOC_LEN_ERR, status = IBV_WC_REM_INV_REQ_ERR;
		else if (!scatter(to, receive, buffer, header + length, 1))
			wc.status = IBV_WC_LOC_PROT_ERR, status = IBV_WC_REM_OP_ERR;
		free(buffer);
	}
	if (status == IBV_WC_LOC_PROT_ERR)
		return status;
	take(queue);
	wc.byte_len = (uint32_t)(header + length);
	wc.src_qp = from->ibv.qp_base.qp_num;
	wc.slid = 0x1234;
	wc.sl = 5;
	wc.pkey_index = 3;
	wc.dlid_path_bits = 7;
	if (datagram)
		wc.wc_flags |= IBV_WC_GRH;
	if (work->send.opcode == IBV_WR_SEND_WITH_IMM || work->send.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		wc.wc_flags |= IBV_WC_WITH_IMM;
		wc.imm_data = work->send.imm_data;
	}
	if (work->send.opcode == IBV_WR_SEND_WITH_INV) {
		wc.wc_flags |= IBV_WC_WITH_INV;
		wc.invalidated_rkey = work->send.invalidate_rkey;
		for (struct fenced_mw *mw = windows; mw; mw = mw->next)
			if (mw->ibv.rkey == work->send.invalidate_rkey && mw->mr) {
				mw->mr->users--;
				mw->mr = NULL;
			}
	}
	if (wc.status != IBV_WC_SUCCESS)
		wc.vendor_err = 0x77;
	complete(to->ibv.qp_base.recv_cq, &wc, work->send.send_flags & IBV_SEND_SOLICITED);
	count(to, 1 << 1, wc.status, wc.byte_len);
	if (to->srq && to->srq->limit && queue->length < to->srq->limit) {
		to->srq->limit = 0;
		raise_async(to->ibv.qp_base.context, IBV_EVENT_SRQ_LIMIT_REACHED, &to->srq->ibv);
	}
	discard(receive);
	if (wc.status != IBV_WC_SUCCESS && !datagram)
		fail_pair(to);
	return datagram || from->ibv.qp_base.qp_type == IBV_QPT_UC ? IBV_WC_SUCCESS : status;
}

static int bind_window(struct fenced_qp *qp, struct ibv_mw *window, uint32_t key, const struct ibv_mw_bind_info *info)
{
	struct fenced_mw *mw = (struct fenced_mw *)window;
	struct fenced_mr *mr = (struct fenced_mr *)info->mr;
	if (mw->mr) {
		if (window->type == IBV_MW_TYPE_2)
			return IBV_WC_MW_BIND_ERR;
		mw->mr->users--;
		mw->mr = NULL;
	}
	window->rkey = key;
	if (!info->length && window->type == IBV_MW_TYPE_1)
		return IBV_WC_SUCCESS;
	if (!mr || !(mr->access & IBV_ACCESS_MW_BIND) || root(mr->ibv.pd) != root(window->pd) || info->addr < mr->iova ||
	    info->addr - mr->iova + info->length > mr->ibv.length)
		return IBV_WC_MW_BIND_ERR;
	mw->mr = mr;
	mr->users++;
	mw->address = info->addr;
	mw->length = info->length;
	mw->access = (int)info->mw_access_flags;
	mw->qp_num = qp->ibv.qp_base.qp_num;
	return IBV_WC_SUCCESS;
}

static int exists(struct ibv_mw *window, struct ibv_mr *memory)
{
	struct fenced_mr *mr = regions;
	struct fenced_mw *mw = windows;
	while (mr && &mr->ibv != memory)
		mr = mr->next;
	while (mw && &mw->ibv != window)
		mw = mw->next;
	return mr && mw;
}

/* Carries out one request; answers its status, or -1 if it has to wait for a receive. */
static int carry_out(struct fenced_qp *qp, struct work *work, uint64_t *bytes)
{
	struct ibv_send_wr *send = &work->send;
	uint64_t length = *bytes = length_of(work);
	int datagram = qp->ibv.qp_base.qp_type == IBV_QPT_UD;
	int reliable = qp->ibv.qp_base.qp_type == IBV_QPT_RC;
	if (send->opcode == IBV_WR_BIND_MW) /* a device has keys, not pointers: either may be gone when the turn comes */
		return exists(send->bind_mw.mw, send->bind_mw.bind_info.mr)
			? bind_window(qp, send->bind_mw.mw, send->bind_mw.rkey, &send->bind_mw.bind_info) : IBV_WC_MW_BIND_ERR;
	if (send->opcode == IBV_WR_LOCAL_INV) {
		for (struct fenced_mw *mw = windows; mw; mw = mw->next)
			if (mw->ibv.rkey == send->invalidate_rkey && mw->mr) {
				mw->mr->users--;
				mw->mr = NULL;
				return IBV_WC_SUCCESS;
			}
		return IBV_WC_LOC_QP_OP_ERR;
	}
	struct fenced_qp *to = pair(datagram ? send->wr.ud.remote_qpn : qp->attr.dest_qp_num);
	int gone = !to || !to->ibv.qp_base.pd || to->ibv.qp_base.state < IBV_QPS_RTR || to->ibv.qp_base.state > IBV_QPS_SQD ||
		(datagram && to->attr.qkey != send->wr.ud.remote_qkey);
	int writes = send->opcode == IBV_WR_RDMA_READ || send->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		send->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	if (!checks_locally(qp, work, writes))
		return IBV_WC_LOC_PROT_ERR;
	if (gone)
		return reliable ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS;
	switch ((int)send->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV: {
		int status = deliver(qp, work, to, length, 1);
		if (status >= 0)
			return status;
		if (!reliable)
			return IBV_WC_SUCCESS; /* it is lost */
		rnr++;
		return qp->attr.rnr_retry == 7 ? -1 : IBV_WC_RNR_RETRY_EXC_ERR;
	}
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM: {
		if (send->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && !receives_of(to)->first) {
			rnr++;
			return !reliable ? IBV_WC_SUCCESS : qp->attr.rnr_retry == 7 ? -1 : IBV_WC_RNR_RETRY_EXC_ERR;
		}
		char *place = remote(to, send->wr.rdma.remote_addr, length, send->wr.rdma.rkey, IBV_ACCESS_REMOTE_WRITE);
		if (length && !place) {
			fail_pair(to);
			return reliable ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS;
		}
		scatter(qp, work, place, length, 0);
		count(to, 1 << 5, IBV_WC_SUCCESS, length);
		if (send->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
			deliver(qp, work, to, length, 0);
		return IBV_WC_SUCCESS;
	}
	case IBV_WR_ATOMIC_WRITE: {
		char *place = remote(to, send->wr.atomic.remote_addr, 8, send->wr.atomic.rkey, IBV_ACCESS_REMOTE_WRITE);
		if (!place) {
			fail_pair(to);
			return IBV_WC_REM_ACCESS_ERR;
		}
		memcpy(place, &send->wr.atomic.compare_add, 8);
		return IBV_WC_SUCCESS;
	}
	case WR_FLUSH:
		return remote(to, send->wr.atomic.remote_addr, send->wr.atomic.compare_add, send->wr.atomic.rkey, 0)
			? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;
	case IBV_WR_TSO:
		return IBV_WC_SUCCESS; /* it leaves the machine */
	case IBV_WR_RDMA_READ: {
		char *place = remote(to, send->wr.rdma.remote_addr, length, send->wr.rdma.rkey, IBV_ACCESS_REMOTE_READ);
		if (length && !place) {
			fail_pair(to);
			return IBV_WC_REM_ACCESS_ERR;
		}
		scatter(qp, work, place, length, 1);
		count(to, 1 << 3, IBV_WC_SUCCESS, length);
		return IBV_WC_SUCCESS;
	}
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD: {
		uint64_t *place = (uint64_t *)remote(to, send->wr.atomic.remote_addr, 8, send->wr.atomic.rkey,
			IBV_ACCESS_REMOTE_ATOMIC);
		if (!place || send->wr.atomic.remote_addr % 8) {
			fail_pair(to);
			return place ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_ACCESS_ERR;
		}
		uint64_t old = *place;
		if (send->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
			*place = old + send->wr.atomic.compare_add;
		else if (old == send->wr.atomic.compare_add)
			*place = send->wr.atomic.swap;
		*bytes = 8;
		scatter(qp, work, (char *)&old, 8, 1);
		return IBV_WC_SUCCESS;
	}
	default:
		return IBV_WC_LOC_QP_OP_ERR;
	}
}

static void progress(struct fenced_qp *qp)
{
	if (qp->busy)
		return;
	qp->busy = 1;
	while (qp->sends.first && qp->ibv.qp_base.state == IBV_QPS_RTS) {
		struct work *work = qp->sends.first;
		uint64_t bytes;
		int status = carry_out(qp, work, &bytes);
		if (status < 0)
			break;
		take(&qp->sends);
		finish_send(qp, work, status, (uint32_t)bytes);
		if (status != IBV_WC_SUCCESS)
			fail_pair(qp);
	}
	qp->busy = 0;
	if (qp->ibv.qp_base.state == IBV_QPS_ERR)
		flush(qp);
}

/* A receive has come: those who wait for it go on. */
static void progress_all(void)
{
	for (struct fenced_qp *qp = queue_pairs; qp; qp = qp->next)
		if (qp->sends.first)
			progress(qp);
}

static struct work *work_of(uint64_t id, const struct ibv_sge *list, int count)
{
	struct work *work = always(1, sizeof(*work));
	work->id = id;
	work->count = count;
	work->pieces = always((size_t)count + 1, sizeof(*work->pieces));
	if (count)
		memcpy(work->pieces, list, (size_t)count * sizeof(*list));
	return work;
}

#include "fenced_seen.c"

static int accept_send(struct fenced_qp *qp, struct ibv_send_wr *wr)
{
	enum ibv_qp_state state = qp->ibv.qp_base.state;
	if (state < IBV_QPS_RTS || !(driver->sends & BIT(wr->opcode)) || wr->send_flags & ~(unsigned int)driver->send_flags ||
	    (driver->signaled_only && !(wr->send_flags & IBV_SEND_SIGNALED) && !qp->sq_sig_all))
		return EINVAL;
	if (state == IBV_QPS_ERR && driver->error_when_failed)
		return driver->error_when_failed;
	if (driver->reads_first_piece && wr->opcode == IBV_WR_RDMA_READ && !wr->num_sge)
		violate("a read without a piece, of which the driver takes the first");
	if (qp->sends.length >= qp->sends.depth)
		return ENOMEM;
	if (wr->num_sge > (int)qp->cap.max_send_sge)
		return EINVAL;
	if (qp->ibv.qp_base.qp_type == IBV_QPT_UD) {
		if (!wr->wr.ud.ah)
			return EINVAL;
		if (root(wr->wr.ud.ah->pd) != root(qp->ibv.qp_base.pd)) /* reads it: a fault if it was destroyed */
			return EINVAL;
	}
	struct work *work = work_of(wr->wr_id, wr->sg_list, wr->num_sge);
	work->send = *wr;
	if (wr->send_flags & IBV_SEND_INLINE && !driver->ignores_inline) {
		uint64_t length = length_of(work), at = 0;
		if (length > qp->cap.max_inline_data) {
			discard(work);
			return driver->inline_error;
		}
		work->inlined = always(1, length + 1);
		for (int i = 0; i < wr->num_sge; i++) {
			memcpy(work->inlined + at, (void *)wr->sg_list[i].addr, wr->sg_list[i].length);
			work->pieces[i].addr = at;
			at += wr->sg_list[i].length;
		}
	}
	keep_send(qp, wr);
	if (wr->opcode == IBV_WR_BIND_MW)
		(void)*(volatile uint32_t *)&wr->bind_mw.mw->rkey; /* follows the pointers, as a driver does */
	append(&qp->sends, work);
	return 0;
}

/* For functions that post: some drivers answer a negative error number. */
static int answer_post(int error) { return answer(driver->negative ? -error : error); }

static int post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fenced_qp *qp = (struct fenced_qp *)ibqp;
	int accepted = 0;
	int error = enter("ibv_post_send");
	if (error)
		return answer_post(error); /* as some drivers do: "bad" stays as it is */
	for (; wr; wr = wr->next, accepted++) {
		error = accept_send(qp, wr);
		if (error) {
			*bad = wr;
			break;
		}
	}
	if (!accepted)
		return answer_post(error);
	if (ibqp->state == IBV_QPS_ERR)
		flush(qp);
	else
		progress(qp);
	return answer_post(error);
}

static int accept_receives(uint32_t number, struct queue *queue, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad, int most)
{
	for (; wr; wr = wr->next) {
		int error = queue->length >= queue->depth ? ENOMEM : wr->num_sge > most ? EINVAL : 0;
		if (error) {
			*bad = wr;
			return error;
		}
		append(queue, work_of(wr->wr_id, wr->sg_list, wr->num_sge));
		keep_receive(number, wr);
	}
	return 0;
}

static int post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fenced_qp *qp = (struct fenced_qp *)ibqp;
	int error = enter("ibv_post_recv");
	if (!error && (ibqp->state == IBV_QPS_RESET || qp->srq))
		error = EINVAL;
	if (error)
		return answer_post(error);
	error = accept_receives(ibqp->qp_num, &qp->receives, wr, bad, (int)qp->cap.max_recv_sge);
	if (error && *bad == wr)
		return answer_post(error);
	if (ibqp->state == IBV_QPS_ERR)
		flush(qp);
	progress_all();
	return answer_post(error);
}

static int post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fenced_srq *srq = (struct fenced_srq *)ibsrq;
	int error = enter("ibv_post_srq_recv");
	if (error)
		return answer_post(error);
	error = accept_receives(0, &srq->receives, wr, bad, (int)srq->max_sge);
	if (error && *bad == wr)
		return answer_post(error);
	progress_all();
	return answer_post(error);
}

static int poll_cq(struct ibv_cq *ibcq, int most, struct ibv_wc *wc)
{
	struct fenced_cq *cq = (struct fenced_cq *)ibcq;
	int found = 0;
	int error = enter("ibv_poll_cq");
	if (error)
		return answer(-error);
	while (found < most && cq->head != cq->tail)
		wc[found++] = cq->done[cq->head++ & (cq->size - 1)];
	return answer(found);
}

static int req_notify_cq(struct ibv_cq *ibcq, int solicited)
{
	struct fenced_cq *cq = (struct fenced_cq *)ibcq;
	int error = enter("ibv_req_notify_cq");
	note("ibv_req_notify_cq.solicited_only", (uint64_t)solicited);
	if (!error && (!cq->asked || cq->asked == 2))
		cq->asked = solicited ? 2 : 1;
	return answer(error);
}

/* --- extended completion queues --- */

static int stand(struct fenced_cq *cq)
{
	if (cq->head == cq->tail)
		return ENOENT;
	cq->current = cq->done[cq->head++ & (cq->size - 1)];
	cq->ibv.wr_id = cq->current.wr_id;
	cq->ibv.status = cq->current.status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attributes)
{
	struct fenced_cq *cq = (struct fenced_cq *)ex;
	int error = enter("ibv_start_poll");
	if (!error && attributes->comp_mask)
		error = EINVAL;
	while (cq->polling) /* a driver's lock: held until ibv_end_poll */
		pthread_cond_wait(&changed, &big);
	if (!error)
		error = stand(cq);
	cq->polling = !error;
	return answer(error);
}

static int next_poll(struct ibv_cq_ex *ex)
{
	int error = enter("ibv_next_poll");
	return answer(error ? error : stand((struct fenced_cq *)ex));
}

static void end_poll(struct ibv_cq_ex *ex)
{
	pthread_mutex_lock(&big);
	if (!((struct fenced_cq *)ex)->polling)
		violate("ibv_end_poll without ibv_start_poll");
	((struct fenced_cq *)ex)->polling = 0;
	pthread_cond_broadcast(&changed);
	leave();
}

#define READ(type, name, field) \
	static type name(struct ibv_cq_ex *ex) { return (type)((struct fenced_cq *)ex)->current.field; }

READ(enum ibv_wc_opcode, read_opcode, opcode)
READ(uint32_t, read_vendor_err, vendor_err)
READ(uint32_t, read_byte_len, byte_len)
READ(__be32, read_imm_data, imm_data)
READ(uint32_t, read_qp_num, qp_num)
READ(uint32_t, read_src_qp, src_qp)
READ(unsigned int, read_wc_flags, wc_flags)
READ(uint32_t, read_slid, slid)
READ(uint8_t, read_sl, sl)
READ(uint8_t, read_dlid_path_bits, dlid_path_bits)

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0x1122334455667788;
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0x0102030405060709;
}

static uint16_t read_cvlan(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0x9abc;
}

static uint32_t read_flow_tag(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0xf10f10;
}

static void read_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *info)
{
	(void)ex;
	info->tag = 0x7a67a67a67a67a67;
	info->priv = 0x50505051;
}

/* --- extended queue pairs --- */

enum { FLUSH_AT = offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(void *) }; /* older headers lack wr_flush */

static void wr_start(struct ibv_qp_ex *ex)
{
	struct fenced_qp *qp = (struct fenced_qp *)ex;
	pthread_mutex_lock(&big);
	qp->built = qp->error = 0;
	leave();
}

static struct ibv_send_wr *build(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct fenced_qp *qp = (struct fenced_qp *)ex;
	static struct ibv_send_wr nowhere;
	if (qp->built == 256) {
		qp->error = ENOMEM;
		return &nowhere;
	}
	struct ibv_send_wr *wr = &qp->building[qp->built];
	memset(wr, 0, sizeof(*wr));
	wr->wr_id = ex->wr_id;
	wr->send_flags = ex->wr_flags;
	wr->opcode = opcode;
	wr->sg_list = qp->pieces[qp->built];
	if (qp->built)
		qp->building[qp->built - 1].next = wr;
	qp->built++;
	return wr;
}

static struct ibv_send_wr *last(struct ibv_qp_ex *ex)
{
	struct fenced_qp *qp = (struct fenced_qp *)ex;
	return &qp->building[qp->built ? qp->built - 1 : 0];
}

static void wr_send(struct ibv_qp_ex *ex) { build(ex, IBV_WR_SEND); }

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 data) { build(ex, IBV_WR_SEND_WITH_IMM)->imm_data = data; }

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t key) { build(ex, IBV_WR_SEND_WITH_INV)->invalidate_rkey = key; }

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t key) { build(ex, IBV_WR_LOCAL_INV)->invalidate_rkey = key; }

static struct ibv_send_wr *rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t key, uint64_t address)
{
	struct ibv_send_wr *wr = build(ex, opcode);
	wr->wr.rdma.rkey = key;
	wr->wr.rdma.remote_addr = address;
	return wr;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t key, uint64_t address)
{
	rdma(ex, IBV_WR_RDMA_WRITE, key, address);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t key, uint64_t address, __be32 data)
{
	rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, key, address)->imm_data = data;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t key, uint64_t address)
{
	rdma(ex, IBV_WR_RDMA_READ, key, address);
}

static void atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t key, uint64_t address, uint64_t one,
		   uint64_t other)
{
	struct ibv_send_wr *wr = build(ex, opcode);
	wr->wr.atomic.rkey = key;
	wr->wr.atomic.remote_addr = address;
	wr->wr.atomic.compare_add = one;
	wr->wr.atomic.swap = other;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t key, uint64_t address, uint64_t compare, uint64_t swap)
{
	atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, key, address, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t key, uint64_t address, uint64_t add)
{
	atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, key, address, add, 0);
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t key, const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr *wr = build(ex, IBV_WR_BIND_MW);
	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = key;
	wr->bind_mw.bind_info = *info;
}

static void wr_send_tso(struct ibv_qp_ex *ex, void *header, uint16_t size, uint16_t mss)
{
	struct ibv_send_wr *wr = build(ex, IBV_WR_TSO);
	wr->tso.hdr = header;
	wr->tso.hdr_sz = size;
	wr->tso.mss = mss;
}

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t key, uint64_t address, const void *value)
{
	uint64_t word;
	memcpy(&word, value, sizeof(word));
	atomic(ex, IBV_WR_ATOMIC_WRITE, key, address, word, 0);
}

static void wr_flush(struct ibv_qp_ex *ex, uint32_t key, uint64_t address, size_t length, uint8_t type, uint8_t level)
{
	atomic(ex, (enum ibv_wr_opcode)WR_FLUSH, key, address, length, (uint64_t)level << 32 | type);
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t number) { last(ex)->qp_type.xrc.remote_srqn = number; }

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t key, uint64_t address, uint32_t length)
{
	struct ibv_send_wr *wr = last(ex);
	wr->num_sge = 1;
	wr->sg_list[0] = (struct ibv_sge){ .addr = address, .length = length, .lkey = key };
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_sge *list)
{
	struct ibv_send_wr *wr = last(ex);
	if (count > 16) {
		((struct fenced_qp *)ex)->error = EINVAL;
		return;
	}
	wr->num_sge = (int)count;
	memcpy(wr->sg_list, list, count * sizeof(*list));
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *data, size_t length)
{
	struct fenced_qp *qp = (struct fenced_qp *)ex;
	struct ibv_send_wr *wr = last(ex);
	if (length > 256 || !qp->built) {
		qp->error = ENOMEM;
		return;
	}
	memcpy(qp->inlined[qp->built - 1], data, length);
	wr->num_sge = 1;
	wr->sg_list[0] = (struct ibv_sge){ .addr = (uintptr_t)qp->inlined[qp->built - 1], .length = (uint32_t)length };
	wr->send_flags |= IBV_SEND_INLINE;
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_data_buf *list)
{
	char all[256];
	size_t length = 0;
	for (size_t i = 0; i < count; i++) {
		if (length + list[i].length > sizeof(all)) {
			((struct fenced_qp *)ex)->error = ENOMEM;
			return;
		}
		memcpy(all + length, list[i].addr, list[i].length);
		length += list[i].length;
	}
	wr_set_inline_data(ex, all, length);
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t number, uint32_t key)
{
	struct ibv_send_wr *wr = last(ex);
	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = number;
	wr->wr.ud.remote_qkey = key;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct fenced_qp *qp = (struct fenced_qp *)ex;
	struct ibv_send_wr *bad;
	if (qp->error || !qp->built)
		return qp->error;
	if (qp->sends.length + (unsigned)qp->built > qp->sends.depth)
		return ENOMEM;
	return post_send(&ex->qp_base, qp->building, &bad);
}

static void wr_abort(struct ibv_qp_ex *ex) { ((struct fenced_qp *)ex)->built = 0; }

/* --- the device --- */

/* Sets the folder of the device in sysfs, which goes with the device; none at first. */
API void fenced_device_path(const char *path) { snprintf(device.dev_path, sizeof(device.dev_path), "%s", path); }

/* Sets the folder of the device below /sys/class/infiniband, which has the link to the driver of an adapter. */
API void fenced_adapter_path(const char *path) { snprintf(device.ibdev_path, sizeof(device.ibdev_path), "%s", path); }

API struct ibv_device **ibv_get_device_list(int *count)
{
	int error = enter("ibv_get_device_list");
	if (error)
		return refuse(error);
	struct ibv_device **list = calloc(2, sizeof(*list));
	if (!list)
		return refuse(ENOMEM);
	list[0] = &device;
	if (count)
		*count = 1;
	leave();
	return list;
}

API void ibv_free_device_list(struct ibv_device **list)
{
	(void)enter("ibv_free_device_list");
	if (!list)
		violate("ibv_free_device_list of no list");
	leave();
	free(list);
}

API const char *ibv_get_device_name(struct ibv_device *which) { return which->name; }

API __be64 ibv_get_device_guid(struct ibv_device *which)
{
	(void)which;
	return 0x0100000000000000;
}

API int ibv_get_device_index(struct ibv_device *which)
{
	(void)which;
	return 0;
}

API int ibv_fork_init(void) { return 0; }

/* Whoever looks for it finds that this is rdma-core 49: struct ibv_qp_ex has a wr_flush. */
API const char *ibv_wr_opcode_str(enum ibv_wr_opcode opcode)
{
	(void)opcode;
	return "a work request";
}

API enum ibv_fork_status ibv_is_fork_initialized(void) { return IBV_FORK_UNNEEDED; }

static void describe_device(struct ibv_device_attr *attributes)
{
	memset(attributes, 0, sizeof(*attributes));
	attributes->max_qp = attributes->max_cq = attributes->max_mr = attributes->max_pd = 1 << 16;
	attributes->max_mw = refusal("ibv_alloc_mw") ? 0 : 1 << 16;
	attributes->max_ah = refusal("ibv_create_ah") ? 0 : 1 << 16;
	attributes->max_srq = refusal("ibv_create_srq") ? 0 : 1 << 16;
	attributes->max_qp_wr = attributes->max_srq_wr = 1 << 14;
	attributes->max_sge = (int)driver->receive_pieces;
	attributes->max_srq_sge = attributes->max_sge_rd = 16;
	attributes->max_cqe = MOST_COMPLETIONS;
	attributes->max_mr_size = UINT64_MAX;
	attributes->page_size_cap = 4096;
	attributes->max_qp_rd_atom = 14;
	attributes->max_qp_init_rd_atom = 12;
	attributes->atomic_cap = driver->sends & BIT(IBV_WR_ATOMIC_CMP_AND_SWP) ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
	attributes->device_cap_flags = driver->windows;
	attributes->phys_port_cnt = 1;
	snprintf(attributes->fw_ver, sizeof(attributes->fw_ver), "1.0");
}

API int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attributes)
{
	int error = enter("ibv_query_device");
	(void)context;
	if (!error && !copy_answer("ibv_query_device", attributes, sizeof(*attributes)))
		describe_device(attributes);
	return answer(error);
}

static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attributes, size_t size)
{
	int error = enter("ibv_query_device_ex");
	(void)context, (void)input;
	memset(attributes, error ? 0x55 : 0, size); /* what a failed call leaves says nothing */
	if (!error && !copy_answer("ibv_query_device_ex", attributes, size)) {
		attributes->odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
		describe_device(&attributes->orig_attr);
	}
	return answer(error);
}

static int query_port(struct ibv_context *context, uint8_t number, struct ibv_port_attr *port, size_t size)
{
	struct ibv_port_attr it = {
		.state = IBV_PORT_ACTIVE, .max_mtu = IBV_MTU_4096, .active_mtu = IBV_MTU_4096, .gid_tbl_len = 1,
		.max_msg_sz = 1u << 23, .pkey_tbl_len = 1, .max_vl_num = 1, .active_width = 2,
		.active_speed = 64, .phys_state = 5, .link_layer = IBV_LINK_LAYER_ETHERNET,
	};
	(void)context;
	int error = enter("ibv_query_port");
	if (!error && number && number < 3 && copy_answer("ibv_query_port", port, size))
		return answer(0);
	if (error || number != 1)
		return answer(error ? error : EINVAL);
	memcpy(port, &it, size < sizeof(it) ? size : sizeof(it));
	return answer(0);
}

API int ibv_query_port(struct ibv_context *context, uint8_t number, struct _compat_ibv_port_attr *port)
{
	return query_port(context, number, (struct ibv_port_attr *)port, offsetof(struct ibv_port_attr, port_cap_flags2));
}

API int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	int error = enter("ibv_query_gid");
	leave();
	(void)context, (void)port;
	if (index || error) {
		errno = error ? error : EINVAL;
		return -1;
	}
	static const uint8_t address[16] = { [10] = 0xff, 0xff, 10, 9, 9, 1 };
	memcpy(gid->raw, address, sizeof(address));
	return 0;
}

API int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	(void)context, (void)port;
	if (index > 1)
		return -1;
	*pkey = index ? htobe16(0x1234) : 0xffff;
	return 0;
}

API int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	(void)context, (void)port;
	return pkey == 0xffff ? 0 : pkey == htobe16(0x1234) ? 1 : -1;
}

API ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t most,
				 uint32_t flags, size_t size)
{
	(void)flags;
	int error = enter("ibv_query_gid_table");
	size_t found = error ? 0 : copy_answer("ibv_query_gid_table", entries, most * size) / size;
	leave();
	if (error || most < 1 || found > most)
		return error ? -error : -EINVAL;
	if (found)
		return (ssize_t)found;
	memset(entries, 0, size);
	entries->port_num = 1;
	entries->gid_type = IBV_GID_TYPE_ROCE_V2;
	ibv_query_gid(context, 1, 0, &entries->gid);
	return 1;
}

static void detach_counters(struct fenced_qp *qp);

/* --- domains and memory --- */

static struct fenced_pd *new_pd(struct ibv_context *context, uint32_t handle)
{
	struct fenced_pd *pd = make(PD, sizeof(*pd));
	if (!pd)
		return NULL;
	pd->ibv.context = context;
	pd->ibv.handle = handle;
	of(context)->users++;
	pd->next = domains;
	domains = pd;
	return pd;
}

static void forget_pd(struct fenced_pd *pd)
{
	for (struct fenced_pd **at = &domains; *at; at = &(*at)->next) {
		if (*at == pd) {
			*at = pd->next;
			break;
		}
	}
	of(pd->ibv.context)->users--;
	unmake(PD, pd, sizeof(*pd));
}

API struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	int error = enter("ibv_alloc_pd");
	if (error)
		return refuse(error);
	struct fenced_pd *pd = new_pd(context, next_handle++);
	if (!pd)
		return refuse(ENOMEM);
	leave();
	return &pd->ibv;
}

API int ibv_dealloc_pd(struct ibv_pd *ibpd)
{
	struct fenced_pd *pd = (struct fenced_pd *)ibpd;
	int error = enter("ibv_dealloc_pd");
	if (error || pd->users)
		return answer(error ? error : EBUSY);
	if (pd->root)
		((struct fenced_pd *)pd->root)->users--;
	if (pd->td)
		pd->td->users--;
	forget_pd(pd);
	return answer(0);
}

static struct ibv_td *alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init)
{
	(void)init;
	int error = enter("ibv_alloc_td");
	if (error)
		return refuse(error);
	struct fenced_td *td = make(TD, sizeof(*td));
	if (!td)
		return refuse(ENOMEM);
	td->ibv.context = context;
	of(context)->users++;
	leave();
	return &td->ibv;
}

static int dealloc_td(struct ibv_td *ibtd)
{
	struct fenced_td *td = (struct fenced_td *)ibtd;
	int error = enter("ibv_dealloc_td");
	if (error || td->users)
		return answer(error ? error : EBUSY);
	of(ibtd->context)->users--;
	unmake(TD, td, sizeof(*td));
	return answer(0);
}

static struct ibv_pd *alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *init)
{
	int error = enter("ibv_alloc_parent_domain");
	keep_given("ibv_alloc_parent_domain", init, sizeof(*init));
	if (error)
		return refuse(error);
	struct fenced_pd *pd = new_pd(context, next_handle++);
	if (!pd)
		return refuse(ENOMEM);
	pd->root = root(init->pd);
	pd->td = (struct fenced_td *)init->td;
	pd->unprotected = !!(init->comp_mask & 1 << 2);
	((struct fenced_pd *)pd->root)->users++;
	if (pd->td)
		pd->td->users++;
	leave();
	return &pd->ibv;
}

static struct fenced_mr *new_mr(struct ibv_pd *ibpd, void *start, size_t length, uint64_t iova, int access)
{
	struct fenced_mr *mr = make(MR, sizeof(*mr));
	if (!mr)
		return NULL;
	mr->ibv.context = ibpd->context;
	mr->ibv.pd = ibpd;
	mr->ibv.addr = start;
	mr->ibv.length = length;
	mr->ibv.handle = next_handle++;
	mr->ibv.lkey = next_key++ << 8;
	mr->ibv.rkey = next_key++ << 8; /* some adapters have one key for both; two show which of them is used */
	mr->pd = (struct fenced_pd *)ibpd;
	mr->iova = iova;
	mr->access = access;
	mr->pd->users++;
	mr->next = regions;
	regions = mr;
	return mr;
}

API struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *start, size_t length, uint64_t iova, unsigned int access)
{
	int error = enter("ibv_reg_mr_iova2");
	if (error)
		return refuse(error);
	unsigned char in_core;
	uintptr_t page = (uintptr_t)start & ~(PAGE - 1);
	if (length == SIZE_MAX) {
		if (start || !(access & IBV_ACCESS_ON_DEMAND))
			return refuse(EINVAL);
	} else if (length && mincore((void *)page, 1, &in_core) && errno == ENOMEM) {
		return refuse(EFAULT);
	}
	struct fenced_mr *mr = new_mr(pd, start, length, iova, (int)access);
	if (!mr)
		return refuse(ENOMEM);
	add_span(mr);
	leave();
	return &mr->ibv;
}

API struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *start, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, start, length, (uintptr_t)start, (unsigned int)access);
}

API int ibv_dereg_mr(struct ibv_mr *ibmr)
{
	struct fenced_mr *mr = (struct fenced_mr *)ibmr;
	int error = enter("ibv_dereg_mr");
	if (error || mr->users)
		return answer(error ? error : EINVAL); /* as rxe says it */
	for (struct fenced_mr **at = &regions; *at; at = &(*at)->next) {
		if (*at == mr) {
			*at = mr->next;
			break;
		}
	}
	remove_span(mr);
	mr->pd->users--;
	if (mr->more_users)
		--*mr->more_users;
	if (mr->dmah_users)
		--*mr->dmah_users;
	unmake(MR, mr, sizeof(*mr));
	return answer(0);
}

API int ibv_rereg_mr(struct ibv_mr *ibmr, int flags, struct ibv_pd *pd, void *address, size_t length, int access)
{
	struct fenced_mr *mr = (struct fenced_mr *)ibmr;
	int error = enter("ibv_rereg_mr");
	uint64_t arguments[] = { (uint64_t)flags, (uintptr_t)pd, (uintptr_t)address, length, (uint64_t)access };
	keep_given("ibv_rereg_mr", arguments, sizeof(arguments));
	int how = 0; /* of a failure, if not before the kernel was called */
	copy_answer("ibv_rereg_mr", &how, sizeof(how));
	if (error) {
		errno = error;
		if (how != IBV_REREG_MR_ERR_DO_FORK_OLD) /* which comes after the kernel has changed the region */
			return answer(how ? how : IBV_REREG_MR_ERR_CMD);
	}
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		remove_span(mr);
		ibmr->addr = address;
		ibmr->length = length;
		mr->iova = (uintptr_t)address;
		add_span(mr);
	}
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		mr->pd->users--;
		ibmr->pd = pd;
		mr->pd = (struct fenced_pd *)pd;
		mr->pd->users++;
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		mr->access = access;
	ibmr->lkey = next_key++ << 8;
	ibmr->rkey = next_key++ << 8;
	return answer(error ? how : 0);
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	int error = enter("ibv_alloc_mw");
	if (!error && type == IBV_MW_TYPE_2 && driver->windows == IBV_DEVICE_MEM_WINDOW)
		error = EOPNOTSUPP;
	if (error)
		return refuse(error);
	struct fenced_mw *mw = make(MW, sizeof(*mw));
	if (!mw)
		return refuse(ENOMEM);
	mw->ibv.context = pd->context;
	mw->ibv.pd = pd;
	mw->ibv.type = type;
	mw->ibv.rkey = next_key++ << 8;
	mw->next = windows;
	windows = mw;
	((struct fenced_pd *)pd)->users++;
	leave();
	return &mw->ibv;
}

static int dealloc_mw(struct ibv_mw *ibmw)
{
	struct fenced_mw *mw = (struct fenced_mw *)ibmw;
	int error = enter("ibv_dealloc_mw");
	if (error)
		return answer(error);
	for (struct fenced_mw **at = &windows; *at; at = &(*at)->next) {
		if (*at == mw) {
			*at = mw->next;
			break;
		}
	}
	if (mw->mr)
		mw->mr->users--;
	((struct fenced_pd *)ibmw->pd)->users--;
	unmake(MW, mw, sizeof(*mw));
	return answer(0);
}

static int bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *how)
{
	struct fenced_qp *qp = (struct fenced_qp *)ibqp;
	int error = enter("ibv_bind_mw");
	note("ibv_bind_mw.wr_id", how->wr_id);
	note("ibv_bind_mw.send_flags", how->send_flags);
	note("ibv_bind_mw.mr", (uintptr_t)how->bind_info.mr);
	note("ibv_bind_mw.addr", how->bind_info.addr);
	note("ibv_bind_mw.length", how->bind_info.length);
	note("ibv_bind_mw.mw_access_flags", how->bind_info.mw_access_flags);
	if (!error && qp->ibv.qp_base.state != IBV_QPS_RTS)
		error = EINVAL;
	if (!error && bind_window(qp, mw, next_key++ << 8, &how->bind_info) != IBV_WC_SUCCESS)
		error = EINVAL;
	if (!error && how->send_flags & IBV_SEND_SIGNALED) {
		struct ibv_wc wc = wc_of(qp, how->wr_id, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
		complete(ibqp->send_cq, &wc, 0);
	}
	return answer(error);
}

/* --- completion queues --- */

API struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	int error = enter("ibv_create_comp_channel");
	if (error)
		return refuse(error);
	int fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (fd < 0)
		return refuse(errno);
	struct fenced_channel *channel = make(CHANNEL, sizeof(*channel));
	if (!channel) {
		close(fd);
		return refuse(ENOMEM);
	}
	channel->ibv.context = context;
	channel->ibv.fd = fd;
	of(context)->users++;
	leave();
	return &channel->ibv;
}

API int ibv_destroy_comp_channel(struct ibv_comp_channel *ibchannel)
{
	struct fenced_channel *channel = (struct fenced_channel *)ibchannel;
	int error = enter("ibv_destroy_comp_channel");
	if (error || channel->users)
		return answer(error ? error : EBUSY);
	close(ibchannel->fd);
	of(ibchannel->context)->users--;
	unmake(CHANNEL, channel, sizeof(*channel));
	return answer(0);
}

API int ibv_get_cq_event(struct ibv_comp_channel *ibchannel, struct ibv_cq **cq, void **user)
{
	struct fenced_channel *channel = (struct fenced_channel *)ibchannel;
	errno = enter("ibv_get_cq_event");
	leave();
	if (errno || take_fd(ibchannel->fd))
		return -1;
	pthread_mutex_lock(&big);
	*cq = channel->queue[channel->head++ % 4096];
	*user = (*cq)->cq_context;
	leave();
	return 0;
}

API void ibv_ack_cq_events(struct ibv_cq *ibcq, unsigned int count)
{
	struct fenced_cq *cq = (struct fenced_cq *)ibcq;
	pthread_mutex_lock(&big);
	cq->acknowledged += count;
	if (cq->acknowledged > cq->events)
		violate("more events were acknowledged than taken");
	pthread_cond_broadcast(&changed);
	leave();
}

static struct ibv_cq_ex *new_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *init)
{
	struct fenced_cq *cq = make(CQ, sizeof(*cq));
	if (!cq)
		return NULL;
	cq->size = 1;
	while (cq->size < init->cqe)
		cq->size *= 2;
	cq->done = calloc(cq->size, sizeof(*cq->done));
	if (!cq->done) {
		unmake(CQ, cq, sizeof(*cq));
		return NULL;
	}
	cq->ibv.context = context;
	cq->ibv.channel = init->channel;
	cq->ibv.cq_context = init->cq_context;
	cq->ibv.handle = next_handle++;
	cq->ibv.cqe = (int)cq->size;
	cq->ibv.start_poll = start_poll;
	cq->ibv.next_poll = next_poll;
	cq->ibv.end_poll = end_poll;
	cq->ibv.read_opcode = read_opcode;
	cq->ibv.read_vendor_err = read_vendor_err;
	cq->ibv.read_byte_len = read_byte_len;
	cq->ibv.read_imm_data = read_imm_data;
	cq->ibv.read_qp_num = read_qp_num;
	cq->ibv.read_src_qp = read_src_qp;
	cq->ibv.read_wc_flags = read_wc_flags;
	cq->ibv.read_slid = read_slid;
	cq->ibv.read_sl = read_sl;
	cq->ibv.read_dlid_path_bits = read_dlid_path_bits;
	cq->ibv.read_completion_ts = read_completion_ts;
	cq->ibv.read_completion_wallclock_ns = read_completion_wallclock_ns;
	cq->ibv.read_cvlan = read_cvlan;
	if (!lacks("ibv_wc_read_flow_tag"))
		cq->ibv.read_flow_tag = read_flow_tag;
	cq->ibv.read_tm_info = read_tm_info;
	if (init->channel)
		((struct fenced_channel *)init->channel)->users++;
	of(context)->users++;
	return &cq->ibv;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init)
{
	int error = enter("ibv_create_cq_ex");
	if (error)
		return refuse(error);
	if (init->wc_flags & ~driver->completion_fields)
		return refuse(EOPNOTSUPP);
	if (!init->cqe || init->cqe > MOST_COMPLETIONS)
		return refuse(EINVAL);
	struct ibv_cq_ex *cq = new_cq(context, init);
	if (!cq)
		return refuse(ENOMEM);
	note("ibv_create_cq_ex.comp_vector", init->comp_vector);
	note("ibv_create_cq_ex.wc_flags", init->wc_flags);
	note("ibv_create_cq_ex.comp_mask", init->comp_mask);
	note("ibv_create_cq_ex.flags", init->flags);
	note("ibv_create_cq_ex.parent_domain", (uintptr_t)init->parent_domain);
	leave();
	return cq;
}

API struct ibv_cq *ibv_create_cq(struct ibv_context *context, int size, void *user, struct ibv_comp_channel *channel,
				 int vector)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = (uint32_t)size, .cq_context = user, .channel = channel, .comp_vector = (uint32_t)vector,
	};
	int error = enter("ibv_create_cq");
	if (error)
		return refuse(error);
	note("ibv_create_cq.comp_vector", (uint64_t)vector);
	if (size < 1 || size > MOST_COMPLETIONS || vector)
		return refuse(EINVAL);
	struct ibv_cq_ex *cq = new_cq(context, &init);
	if (!cq)
		return refuse(ENOMEM);
	leave();
	return ibv_cq_ex_to_cq(cq);
}

API int ibv_resize_cq(struct ibv_cq *ibcq, int size)
{
	struct fenced_cq *cq = (struct fenced_cq *)ibcq;
	int error = enter("ibv_resize_cq");
	unsigned wanted = 1, have = cq->tail - cq->head;
	if (!error && (size < 1 || size > MOST_COMPLETIONS))
		error = EINVAL;
	while (!error && wanted < (unsigned)size)
		wanted *= 2;
	if (!error && wanted < have)
		error = EINVAL;
	if (error)
		return answer(error);
	struct ibv_wc *done = calloc(wanted, sizeof(*done));
	if (!done)
		return answer(ENOMEM);
	for (unsigned i = 0; i < have; i++)
		done[i] = cq->done[(cq->head + i) & (cq->size - 1)];
	free(cq->done);
	cq->done = done;
	cq->head = 0;
	cq->tail = have;
	cq->size = wanted;
	cq->ibv.cqe = (int)wanted;
	return answer(0);
}

static int modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attributes)
{
	int error = enter("ibv_modify_cq");
	(void)ibcq;
	note("ibv_modify_cq.attr_mask", attributes->attr_mask);
	note("ibv_modify_cq.cq_count", attributes->moderate.cq_count);
	note("ibv_modify_cq.cq_period", attributes->moderate.cq_period);
	return answer(error);
}

API int ibv_destroy_cq(struct ibv_cq *ibcq)
{
	struct fenced_cq *cq = (struct fenced_cq *)ibcq;
	int error = enter("ibv_destroy_cq");
	if (error || cq->users)
		return answer(error ? error : EBUSY);
	struct fenced_channel *channel = (struct fenced_channel *)ibcq->channel;
	if (channel) { /* events that were not taken go with it; those that were taken are waited for */
		unsigned kept = channel->head;
		for (unsigned i = channel->head; i != channel->tail; i++) {
			if (channel->queue[i % 4096] == ibcq) {
				cq->acknowledged++;
				uint64_t one;
				int flags = fcntl(channel->ibv.fd, F_GETFL);
				fcntl(channel->ibv.fd, F_SETFL, flags | O_NONBLOCK);
				if (read(channel->ibv.fd, &one, sizeof(one)) < 0) {
					cq->acknowledged--; /* somebody is taking it */
					channel->queue[kept++ % 4096] = ibcq;
				}
				fcntl(channel->ibv.fd, F_SETFL, flags);
			} else {
				channel->queue[kept++ % 4096] = channel->queue[i % 4096];
			}
		}
		channel->tail = kept;
	}
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	while (cq->acknowledged != cq->events) {
		if (pthread_cond_timedwait(&changed, &big, &until) == ETIMEDOUT) {
			violate("ibv_destroy_cq waits for %u events that nobody acknowledges", cq->events - cq->acknowledged);
			break;
		}
	}
	forget_async(ibcq->context, ibcq);
	if (channel)
		channel->users--;
	of(ibcq->context)->users--;
	free(cq->done);
	unmake(CQ, cq, sizeof(*cq));
	return answer(0);
}

/* --- queue pairs --- */

static void begin(struct queue *queue, unsigned depth)
{
	queue->end = &queue->first;
	queue->depth = depth;
}

/* The number of the next queue pair: a device uses numbers again. */
API void fenced_number(uint32_t number)
{
	pthread_mutex_lock(&big);
	next_number = number;
	leave();
}

static void use_rare(struct fenced_qp *qp, int change);

static struct ibv_qp *new_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *init, int extended)
{
	struct fenced_qp *qp = make(QP, sizeof(*qp));
	if (!qp)
		return NULL;
	struct ibv_qp *base = &qp->ibv.qp_base;
	base->context = context;
	base->pd = init->pd;
	base->send_cq = init->send_cq;
	base->recv_cq = init->recv_cq;
	base->srq = init->srq;
	base->qp_type = init->qp_type;
	base->qp_num = next_number++;
	base->handle = next_handle++;
	if (init->cap.max_inline_data < driver->inline_least)
		init->cap.max_inline_data = driver->inline_least;
	copy_answer("ibv_create_qp", &init->cap, sizeof(init->cap)); /* a device may grant more than was asked for */
	qp->cap = init->cap;
	qp->srq = (struct fenced_srq *)init->srq;
	qp->sq_sig_all = init->sq_sig_all;
	qp->extended = extended && !lacks("ibv_qp_to_qp_ex");
	begin(&qp->sends, init->cap.max_send_wr);
	begin(&qp->receives, init->cap.max_recv_wr);
	if (extended) {
		qp->ibv.wr_start = wr_start;
		qp->ibv.wr_complete = wr_complete;
		qp->ibv.wr_abort = wr_abort;
		qp->ibv.wr_send = wr_send;
		qp->ibv.wr_send_imm = wr_send_imm;
		qp->ibv.wr_send_inv = wr_send_inv;
		qp->ibv.wr_local_inv = wr_local_inv;
		qp->ibv.wr_rdma_write = wr_rdma_write;
		qp->ibv.wr_rdma_write_imm = wr_rdma_write_imm;
		if (!lacks("ibv_wr_rdma_read"))
			qp->ibv.wr_rdma_read = wr_rdma_read;
		qp->ibv.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
		qp->ibv.wr_atomic_fetch_add = wr_atomic_fetch_add;
		qp->ibv.wr_bind_mw = wr_bind_mw;
		qp->ibv.wr_set_sge = wr_set_sge;
		qp->ibv.wr_set_sge_list = wr_set_sge_list;
		if (!lacks("ibv_wr_set_inline_data"))
			qp->ibv.wr_set_inline_data = wr_set_inline_data;
		qp->ibv.wr_set_inline_data_list = wr_set_inline_data_list;
		qp->ibv.wr_set_ud_addr = wr_set_ud_addr;
		qp->ibv.wr_send_tso = wr_send_tso;
		qp->ibv.wr_atomic_write = wr_atomic_write;
		qp->ibv.wr_set_xrc_srqn = wr_set_xrc_srqn;
		void *flush = (void *)wr_flush;
		memcpy((char *)qp + FLUSH_AT, &flush, sizeof(flush));
	}
	if (init->comp_mask & IBV_QP_INIT_ATTR_XRCD)
		qp->xrcd = init->xrcd;
	if (init->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE)
		qp->table = init->rwq_ind_tbl;
	use_rare(qp, 1);
	if (init->pd)
		((struct fenced_pd *)init->pd)->users++;
	if (init->send_cq)
		((struct fenced_cq *)init->send_cq)->users++;
	if (init->recv_cq)
		((struct fenced_cq *)init->recv_cq)->users++;
	if (qp->srq)
		qp->srq->users++;
	of(context)->users++;
	qp->next = queue_pairs;
	queue_pairs = qp;
	return base;
}

static int wrong(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
	if (!(driver->types & BIT(init->qp_type & 31)))
		return EOPNOTSUPP;
	if (init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS && init->send_ops_flags & ~driver->extended_sends)
		return EOPNOTSUPP;
	if (init->qp_type == IBV_QPT_XRC_RECV
			? !(init->comp_mask & IBV_QP_INIT_ATTR_XRCD) || init->xrcd->context != context
			: !init->pd || init->pd->context != context)
		return EINVAL;
	if (!init->send_cq && init->qp_type != IBV_QPT_XRC_RECV && !(init->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE))
		return EINVAL;
	if ((init->send_cq && init->send_cq->context != context) || (init->recv_cq && init->recv_cq->context != context) ||
	    (init->srq && init->srq->context != context)) {
		violate("a queue pair was given a queue of another context");
		return EINVAL;
	}
	if (init->cap.max_send_wr > 1 << 14 || init->cap.max_recv_wr > 1 << 14 || init->cap.max_send_sge > 16 ||
	    init->cap.max_recv_sge > driver->receive_pieces || init->cap.max_inline_data > driver->inline_most)
		return EINVAL;
	return 0;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
	int error = enter("ibv_create_qp_ex");
	keep_given("ibv_create_qp_ex", init, sizeof(*init));
	if (init->comp_mask & IBV_QP_INIT_ATTR_RX_HASH)
		keep_given("ibv_create_qp_ex.rx_hash_key", init->rx_hash_conf.rx_hash_key, init->rx_hash_conf.rx_hash_key_len);
	if (!error)
		error = wrong(context, init);
	if (error)
		return refuse(error);
	struct ibv_qp *qp = new_qp(context, init, init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	if (!qp)
		return refuse(ENOMEM);
	leave();
	return qp;
}

API struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = init->qp_context, .send_cq = init->send_cq, .recv_cq = init->recv_cq, .srq = init->srq,
		.cap = init->cap, .qp_type = init->qp_type, .sq_sig_all = init->sq_sig_all, .pd = pd,
	};
	int error = enter("ibv_create_qp");
	keep_given("ibv_create_qp", init, sizeof(*init));
	if (!error)
		error = wrong(pd->context, &ex);
	if (error)
		return refuse(error);
	struct ibv_qp *qp = new_qp(pd->context, &ex, 0);
	if (!qp)
		return refuse(ENOMEM);
	init->cap = ex.cap;
	leave();
	return qp;
}

API struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return ((struct fenced_qp *)qp)->extended ? (struct ibv_qp_ex *)qp : NULL;
}

API int ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attributes, int mask)
{
	struct fenced_qp *qp = (struct fenced_qp *)ibqp;
	int error = enter("ibv_modify_qp");
	keep_given("ibv_modify_qp", attributes, sizeof(*attributes));
	if (!error && driver->connected_by_cm && mask & IBV_QP_STATE && attributes->qp_state == IBV_QPS_RTS &&
	    ibqp->state == IBV_QPS_RTR)
		error = EINVAL;
	if (error)
		return answer(error);
	if (mask & IBV_QP_ACCESS_FLAGS)
		qp->attr.qp_access_flags = attributes->qp_access_flags;
	if (mask & IBV_QP_DEST_QPN)
		qp->attr.dest_qp_num = attributes->dest_qp_num;
	if (mask & IBV_QP_QKEY)
		qp->attr.qkey = attributes->qkey;
	if (mask & IBV_QP_RNR_RETRY)
		qp->attr.rnr_retry = attributes->rnr_retry;
	if (mask & IBV_QP_RETRY_CNT)
		qp->attr.retry_cnt = attributes->retry_cnt;
	if (mask & IBV_QP_TIMEOUT)
		qp->attr.timeout = attributes->timeout;
	if (mask & IBV_QP_PATH_MTU)
		note("ibv_modify_qp.path_mtu", qp->attr.path_mtu = attributes->path_mtu);
	if (mask & IBV_QP_PORT)
		qp->attr.port_num = attributes->port_num;
	if (mask & IBV_QP_PKEY_INDEX)
		qp->attr.pkey_index = attributes->pkey_index;
	if (mask & IBV_QP_SQ_PSN)
		qp->attr.sq_psn = attributes->sq_psn;
	if (mask & IBV_QP_RQ_PSN)
		qp->attr.rq_psn = attributes->rq_psn;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		qp->attr.max_rd_atomic = attributes->max_rd_atomic;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		qp->attr.max_dest_rd_atomic = attributes->max_dest_rd_atomic;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		qp->attr.min_rnr_timer = attributes->min_rnr_timer;
	if (mask & IBV_QP_AV) {
		qp->attr.ah_attr = attributes->ah_attr;
		note("ibv_modify_qp.sl", attributes->ah_attr.sl);
		note("ibv_modify_qp.traffic_class", attributes->ah_attr.grh.traffic_class);
	}
	if (mask & IBV_QP_STATE) {
		if (attributes->qp_state == IBV_QPS_ERR) {
			fail_pair(qp);
		} else {
			ibqp->state = qp->attr.qp_state = attributes->qp_state;
			if (attributes->qp_state == IBV_QPS_RESET) {
				drop(&qp->sends);
				drop(&qp->receives);
			}
			progress(qp);
			progress_all();
		}
	}
	return answer(0);
}

API int ibv_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attributes, int mask, struct ibv_qp_init_attr *init)
{
	struct fenced_qp *qp = (struct fenced_qp *)ibqp;
	int error = enter("ibv_query_qp");
	if (!error && (!(mask & IBV_QP_STATE) || mask & IBV_QP_RATE_LIMIT)) /* a rate can only be set */
		error = EINVAL;
	if (error)
		return answer(error);
	memset(init, 0, sizeof(*init));
	*attributes = qp->attr;
	attributes->qp_state = attributes->cur_qp_state = ibqp->state;
	attributes->cap = init->cap = qp->cap;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->qp_type = ibqp->qp_type;
	return answer(0);
}

API int ibv_destroy_qp(struct ibv_qp *ibqp)
{
	struct fenced_qp *qp = (struct fenced_qp *)ibqp;
	int error = enter("ibv_destroy_qp");
	if (error || qp->users || qp->attached)
		return answer(error ? error : EBUSY);
	for (struct fenced_qp **at = &queue_pairs; *at; at = &(*at)->next) {
		if (*at == qp) {
			*at = qp->next;
			break;
		}
	}
	forget_async(ibqp->context, ibqp);
	drop(&qp->sends);
	drop(&qp->receives);
	use_rare(qp, -1);
	if (ibqp->pd)
		((struct fenced_pd *)ibqp->pd)->users--;
	if (ibqp->send_cq)
		((struct fenced_cq *)ibqp->send_cq)->users--;
	if (ibqp->recv_cq)
		((struct fenced_cq *)ibqp->recv_cq)->users--;
	if (qp->srq)
		qp->srq->users--;
	detach_counters(qp);
	of(ibqp->context)->users--;
	unmake(QP, qp, sizeof(*qp));
	return answer(0);
}

/* --- shared receive queues, address handles --- */

static struct fenced_srq *new_srq(struct ibv_pd *pd, struct ibv_srq_attr *sizes)
{
	struct fenced_srq *srq = make(SRQ, sizeof(*srq));
	if (!srq)
		return NULL;
	srq->ibv.context = pd->context;
	srq->ibv.pd = pd;
	srq->ibv.handle = next_handle++;
	begin(&srq->receives, sizes->max_wr);
	srq->max_sge = sizes->max_sge;
	((struct fenced_pd *)pd)->users++;
	of(pd->context)->users++;
	return srq;
}

static void release_rare(struct fenced_srq *srq);

API struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	int error = enter("ibv_create_srq");
	if (!error && (init->attr.max_wr > 1 << 14 || init->attr.max_sge > 16 || !init->attr.max_wr))
		error = EINVAL;
	if (error)
		return refuse(error);
	struct fenced_srq *srq = new_srq(pd, &init->attr);
	if (!srq)
		return refuse(ENOMEM);
	leave();
	return &srq->ibv;
}

API int ibv_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attributes, int mask)
{
	struct fenced_srq *srq = (struct fenced_srq *)ibsrq;
	int error = enter("ibv_modify_srq");
	if (error)
		return answer(error);
	if (mask & IBV_SRQ_LIMIT)
		srq->limit = attributes->srq_limit;
	if (mask & IBV_SRQ_MAX_WR)
		srq->receives.depth = attributes->max_wr;
	return answer(0);
}

API int ibv_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attributes)
{
	struct fenced_srq *srq = (struct fenced_srq *)ibsrq;
	int error = enter("ibv_query_srq");
	attributes->max_wr = srq->receives.depth;
	attributes->max_sge = srq->max_sge;
	attributes->srq_limit = srq->limit;
	return answer(error);
}

API int ibv_destroy_srq(struct ibv_srq *ibsrq)
{
	struct fenced_srq *srq = (struct fenced_srq *)ibsrq;
	int error = enter("ibv_destroy_srq");
	if (error || srq->users)
		return answer(error ? error : EBUSY);
	forget_async(ibsrq->context, ibsrq);
	drop(&srq->receives);
	release_rare(srq);
	((struct fenced_pd *)ibsrq->pd)->users--;
	of(ibsrq->context)->users--;
	unmake(SRQ, srq, sizeof(*srq));
	return answer(0);
}

API struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attributes)
{
	int error = enter("ibv_create_ah");
	keep_given("ibv_create_ah", attributes, sizeof(*attributes));
	if (error)
		return refuse(error);
	struct fenced_ah *ah = make(AH, sizeof(*ah));
	if (!ah)
		return refuse(ENOMEM);
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	ah->attr = *attributes;
	((struct fenced_pd *)pd)->users++;
	leave();
	return &ah->ibv;
}

/* The way back to the sender of a datagram, from the header that fill_header() has made. */
API int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc, struct ibv_grh *grh,
			    struct ibv_ah_attr *attributes)
{
	int error = enter("ibv_init_ah_from_wc");
	keep_given("ibv_init_ah_from_wc", wc, sizeof(*wc));
	const unsigned char *ip = (const unsigned char *)grh + 20;
	(void)context;
	if (!error && wc->wc_flags & IBV_WC_GRH && ip[0] != 0x45)
		error = EINVAL;
	if (error) {
		leave();
		errno = error;
		return -1;
	}
	memset(attributes, 0, sizeof(*attributes));
	attributes->dlid = wc->slid;
	attributes->sl = wc->sl;
	attributes->src_path_bits = wc->dlid_path_bits;
	attributes->port_num = port;
	if (wc->wc_flags & IBV_WC_GRH) {
		attributes->is_global = 1;
		attributes->grh.hop_limit = 0xff;
		attributes->grh.dgid.raw[10] = attributes->grh.dgid.raw[11] = 0xff;
		memcpy(attributes->grh.dgid.raw + 12, ip + 12, 4);
	}
	leave();
	return 0;
}

API struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attributes;
	return ibv_init_ah_from_wc(pd->context, port, wc, grh, &attributes) ? NULL : ibv_create_ah(pd, &attributes);
}

API int ibv_destroy_ah(struct ibv_ah *ibah)
{
	int error = enter("ibv_destroy_ah");
	if (error)
		return answer(error);
	((struct fenced_pd *)ibah->pd)->users--;
	unmake(AH, ibah, sizeof(struct fenced_ah));
	return answer(0);
}

static struct ibv_context *new_context(struct ibv_device *which, int descriptor);

#include "fenced_rare.c"
#include "fenced_newer.c"
#include "fenced_more.c"

/* --- contexts --- */

static struct ibv_context *new_context(struct ibv_device *which, int descriptor)
{
	int events = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (events < 0)
		return NULL;
	struct fenced_context *it = make(CONTEXT, sizeof(*it));
	if (!it) {
		close(events);
		errno = ENOMEM;
		return NULL;
	}
	struct verbs_context *all = &it->all;
	struct ibv_context *context = &all->context;
	it->end = &it->first;
	all->sz = sizeof(*all);
	all->query_port = query_port;
	all->query_device_ex = query_device_ex;
	all->create_cq_ex = create_cq_ex;
	all->modify_cq = modify_cq;
	all->create_qp_ex = create_qp_ex;
	all->alloc_td = alloc_td;
	all->dealloc_td = dealloc_td;
	all->alloc_parent_domain = alloc_parent_domain;
	all->advise_mr = advise_mr;
	all->alloc_dm = alloc_dm;
	all->free_dm = free_dm;
	all->reg_dm_mr = reg_dm_mr;
	all->alloc_null_mr = alloc_null_mr;
	all->open_xrcd = open_xrcd;
	all->close_xrcd = close_xrcd;
	all->create_wq = create_wq;
	all->modify_wq = modify_wq;
	all->destroy_wq = destroy_wq;
	all->create_rwq_ind_table = create_rwq_ind_table;
	all->destroy_rwq_ind_table = destroy_rwq_ind_table;
	all->ibv_create_flow = create_flow;
	all->ibv_destroy_flow = destroy_flow;
	all->create_counters = create_counters;
	all->destroy_counters = destroy_counters;
	all->create_srq_ex = create_srq_ex;
	all->get_srq_num = get_srq_num;
	all->query_rt_values = query_rt_values;
	all->open_qp = open_qp;
	all->modify_qp_rate_limit = modify_qp_rate_limit;
	all->attach_counters_point_flow = attach_counters_point_flow;
	all->read_counters = read_counters;
	all->post_srq_ops = post_srq_ops;
	context->device = which;
	context->ops.poll_cq = poll_cq;
	context->ops.req_notify_cq = req_notify_cq;
	context->ops.post_send = post_send;
	context->ops.post_recv = post_recv;
	context->ops.post_srq_recv = post_srq_recv;
	context->ops.alloc_mw = alloc_mw;
	context->ops.bind_mw = bind_mw;
	context->ops.dealloc_mw = dealloc_mw;
	context->cmd_fd = descriptor;
	context->async_fd = events;
	context->num_comp_vectors = 1;
	pthread_mutex_init(&context->mutex, NULL);
	context->abi_compat = (void *)-1; /* there is a struct verbs_context around it */
	it->next = contexts;
	contexts = it;
	return context;
}

API struct ibv_context *ibv_open_device(struct ibv_device *which)
{
	int error = enter("ibv_open_device");
	int descriptor = error ? -1 : eventfd(0, EFD_CLOEXEC);
	if (!error && descriptor < 0)
		error = errno;
	if (error)
		return refuse(error);
	struct ibv_context *context = new_context(which, descriptor);
	if (!context) {
		error = errno;
		close(descriptor);
		return refuse(error);
	}
	leave();
	return context;
}

API int ibv_close_device(struct ibv_context *context)
{
	int error = enter("ibv_close_device");
	struct fenced_context *it = of(context);
	if (error)
		return answer(error);
	if (it->users)
		violate("ibv_close_device with %d objects of it left", it->users);
	for (struct fenced_context **at = &contexts; *at; at = &(*at)->next) {
		if (*at == it) {
			*at = it->next;
			break;
		}
	}
	close(context->async_fd);
	close(context->cmd_fd);
	while (it->first) {
		struct fenced_async *async = it->first;
		it->first = async->next;
		free(async);
	}
	while (it->taken) {
		struct fenced_async *async = it->taken;
		it->taken = async->next;
		free(async);
	}
	unmake(CONTEXT, it, sizeof(*it));
	return answer(0);
}

API int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct fenced_context *it = of(context);
	errno = enter("ibv_get_async_event");
	leave();
	if (errno || take_fd(context->async_fd))
		return -1;
	pthread_mutex_lock(&big);
	struct fenced_async *async = it->first;
	it->first = async->next;
	if (!it->first)
		it->end = &it->first;
	*event = async->event;
	async->next = it->taken;
	it->taken = async;
	pthread_cond_broadcast(&changed);
	leave();
	return 0;
}

API void ibv_ack_async_event(struct ibv_async_event *event)
{
	pthread_mutex_lock(&big);
	for (struct fenced_context *it = contexts; it; it = it->next) {
		for (struct fenced_async **at = &it->taken; *at; at = &(*at)->next) {
			struct fenced_async *async = *at;
			if (async->event.element.qp == event->element.qp && async->event.event_type == event->event_type) {
				*at = async->next;
				free(async);
				pthread_cond_broadcast(&changed);
				leave();
				return;
			}
		}
	}
	violate("an event that was not taken is acknowledged");
	leave();
}

/* Raises an asynchronous event: of a queue pair by its number, or, with number 0, of the device's first port. */
API int fenced_raise(struct ibv_context *context, int type, uint32_t number)
{
	pthread_mutex_lock(&big);
	struct fenced_qp *qp = number ? pair(number) : NULL;
	if (number && !qp)
		return answer(-1);
	raise_async(context, (enum ibv_event_type)type, qp ? (void *)&qp->ibv.qp_base : (void *)(uintptr_t)1);
	return answer(0);
}

/* Raises an asynchronous event of any element: the address of an object, or the number of a port. */
API void fenced_raise_of(struct ibv_context *context, int type, uint64_t element)
{
	pthread_mutex_lock(&big);
	raise_async(context, (enum ibv_event_type)type, (void *)(uintptr_t)element);
	leave();
}

#include "fenced_cm.c"
