/* A slow disk and a wrong clock for a program, loaded with LD_PRELOAD.
 *
 * The file that TRIAL_FILE names has two numbers: the seconds that each flush takes, and the seconds by which the
 * clock is ahead. It is read at each call, so that a trial can change them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void settings(double *flush, double *ahead) {
    const char *name = getenv("TRIAL_FILE");
    FILE *file = name ? fopen(name, "r") : NULL;
    *flush = *ahead = 0;
    if (file) {
        if (fscanf(file, "%lf %lf", flush, ahead) < 1) *flush = 0;
        fclose(file);
    }
}

static void be_slow(void) {
    double flush, ahead;
    settings(&flush, &ahead);
    struct timespec left = {(time_t)flush, (long)((flush - (time_t)flush) * 1e9)};
    while (flush > 0 && nanosleep(&left, &left) != 0) {}
}

int fdatasync(int file) {
    be_slow();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}

int fsync(int file) {
    be_slow();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    static __thread int is_asking;
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int outcome = real(clock, time);
    if (outcome == 0 && clock == CLOCK_REALTIME && !is_asking) {
        double flush, ahead;
        is_asking = 1;
        settings(&flush, &ahead);
        is_asking = 0;
        time->tv_sec += (time_t)ahead;
    }
    return outcome;
}
