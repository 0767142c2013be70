/*
 * Stands for the library of a GPU's driver, libcuda.so.1, as far as the example dev.verbena.examples.gpu calls it. It has one
 * GPU, whose memory is a file in memory. A range of it is a DMA buffer of the kernel where there is /dev/udmabuf, else a
 * descriptor of the file. As in the real library, memory begins at no page of the host, and a range must do so.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/udmabuf.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_CONTEXT = 201 };
enum { BYTES = 2 << 20, BEGIN = 512, DMA_BUF_SUPPORTED = 124, DMA_BUF_FD = 1 };

static int file = -1, initialized, supported = 1, retained, allocated, dma_buffers;
static char *memory;
static char context;
static _Thread_local void *current;
static char failing[64];
static int failure;

/* --- what tests ask for --- */

int standin_fail(const char *function, int error)
{
	strncpy(failing, function, sizeof(failing) - 1);
	return failure = error;
}

int standin_support(int on) { return supported = on; }

/* Returns what is left to release: contexts and allocations. */
int standin_left(void) { return retained + allocated; }

/* Returns how many DMA buffers of the kernel were made. */
int standin_dma_buffers(void) { return dma_buffers; }

/* --- the functions of the library --- */

static int fails(const char *function)
{
	if (strcmp(function, failing))
		return SUCCESS;
	failing[0] = 0;
	return failure;
}

#define BEGIN_CALL                                                                                                             \
	do {                                                                                                                   \
		int error = fails(__func__);                                                                                   \
		if (error || !initialized)                                                                                     \
			return error ? error : NOT_INITIALIZED;                                                                \
	} while (0)

int cuInit(unsigned flags)
{
	int error = flags ? INVALID_VALUE : fails(__func__);
	initialized |= !error;
	return error;
}

int cuDeviceGet(int *device, int number)
{
	BEGIN_CALL;
	*device = 40 + number; /* no number that a program could guess */
	return number ? INVALID_DEVICE : SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	BEGIN_CALL;
	*value = supported;
	return attribute != DMA_BUF_SUPPORTED ? INVALID_VALUE : device != 40 ? INVALID_DEVICE : SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **result, int device)
{
	BEGIN_CALL;
	if (device != 40)
		return INVALID_DEVICE;
	retained++;
	*result = &context;
	return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	BEGIN_CALL;
	if (device != 40 || !retained)
		return INVALID_CONTEXT;
	retained--;
	return SUCCESS;
}

int cuCtxSetCurrent(void *wanted)
{
	BEGIN_CALL;
	if (wanted != &context || !retained)
		return INVALID_CONTEXT;
	current = wanted;
	return SUCCESS;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	BEGIN_CALL;
	if (current != &context)
		return INVALID_CONTEXT;
	if (bytes == 0)
		return INVALID_VALUE;
	if (bytes > BYTES - BEGIN || allocated)
		return OUT_OF_MEMORY;
	if (file < 0) {
		file = memfd_create("gpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (file < 0 || ftruncate(file, BYTES) || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK))
			return OUT_OF_MEMORY;
		memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (memory == MAP_FAILED)
			return OUT_OF_MEMORY;
	}
	allocated = 1;
	*address = (uintptr_t)memory + BEGIN;
	return SUCCESS;
}

int cuMemFree_v2(uint64_t address)
{
	BEGIN_CALL;
	if (!allocated || current != &context || address != (uintptr_t)memory + BEGIN)
		return INVALID_VALUE;
	allocated = 0;
	return SUCCESS;
}

int cuMemGetHandleForAddressRange(void *handle, uint64_t address, size_t bytes, int type, unsigned long long flags)
{
	BEGIN_CALL;
	uint64_t page = getpagesize(), offset = address - (uintptr_t)memory;
	if (!allocated || current != &context || type != DMA_BUF_FD || flags || address % page || bytes % page || !bytes ||
	    offset > BYTES || bytes > BYTES - offset)
		return INVALID_VALUE;
	int maker = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), result;
	if (maker < 0) {
		result = fcntl(file, F_DUPFD_CLOEXEC, 0);
	} else {
		struct udmabuf_create part = { .memfd = file, .flags = UDMABUF_FLAGS_CLOEXEC, .offset = offset, .size = bytes };
		result = ioctl(maker, UDMABUF_CREATE, &part);
		dma_buffers += result >= 0;
		close(maker);
	}
	*(int *)handle = result;
	return result < 0 ? OUT_OF_MEMORY : SUCCESS;
}

int cuGetErrorName(int error, const char **text)
{
	*text = error == INVALID_VALUE	   ? "CUDA_ERROR_INVALID_VALUE"
		: error == OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
		: error == INVALID_DEVICE  ? "CUDA_ERROR_INVALID_DEVICE"
		: error == INVALID_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT"
					   : NULL;
	return *text ? SUCCESS : INVALID_VALUE;
}
