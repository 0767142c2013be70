/*
 * An mlx5 adapter without hardware, and the kernel's part of it, for libmlx5 as distributions build it. kernel.c answers
 * the calls of libibverbs and libmlx5; adapter.c does the work of the adapter in a thread.
 *
 * The objects are in a file that all processes with the same SYSFS_PATH share, so that a queue pair finds its peer in
 * another process. The memory that objects name is that of their process: libmlx5's buffers and doorbell records, and
 * the regions of users.
 */
#ifndef MLX5_H
#define MLX5_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <rdma/ib_user_verbs.h>

enum { QUEUES = 1024, REGIONS = 8192, RINGS = 1024, SHARED_RINGS = 64, FIRST_NUMBER = 0x100 };

/* What each object begins with. The process is 0 while the object is not in use. */
struct owner {
	_Atomic(pid_t) process;
	int context; /* the descriptor in that process */
};

/* A memory region. */
struct region {
	struct owner owner;
	uint32_t key, domain, access;
	uint64_t start, length, virtual;
};

/* A completion queue. */
struct ring {
	struct owner owner;
	uint64_t entries, record, handle;
	uint32_t size;
	int reader, channel; /* the ends of a pipe, or -1 */
	atomic_flag lock;
	uint32_t produced;
	uint32_t consumed; /* as last seen */
	uint32_t solicited; /* produced after the last entry that was solicited */
	uint32_t answered; /* the request for an event that was answered last */
	uint32_t events; /* written to the channel */
	bool overrun;
};

/* A shared receive queue: a list within a buffer. */
struct shared_ring {
	struct owner owner;
	uint64_t entries, record;
	uint32_t shift;
	atomic_flag lock;
	uint16_t done, next;
};

/* A queue pair. */
struct queue {
	struct owner owner;
	_Atomic uint32_t state;
	uint32_t number, type, domain, index;
	uint64_t sends, receives, record;
	uint32_t sends_size, receives_size, receives_shift;
	struct ring *sent, *received;
	struct shared_ring *shared;
	atomic_flag lock; /* of the side that responds */
	uint16_t sends_done, receives_done;
	uint64_t waits_since; /* nanoseconds, while the peer is not ready */
	struct ib_uverbs_modify_qp attributes;
	struct ib_uverbs_create_qp made;
};

/* The file, which is at the same address in each process. */
struct fabric {
	_Atomic uint32_t keys;
	struct region regions[REGIONS];
	struct ring rings[RINGS];
	struct shared_ring shared_rings[SHARED_RINGS];
	struct queue queues[QUEUES];
};

#define FABRIC ((struct fabric *)0x5d5000000000)

extern pid_t self;

/* Puts an asynchronous event into the descriptor of a context of this process. */
void raise_event(int context, uint64_t element, uint32_t type);

/* Keeps the adapter from working, so that objects can be changed. The first call starts the adapter. */
void adapter_hold(void);
void adapter_release(void);

static inline void take(atomic_flag *lock)
{
	while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
		;
}

static inline void give(atomic_flag *lock)
{
	atomic_flag_clear_explicit(lock, memory_order_release);
}

#endif
