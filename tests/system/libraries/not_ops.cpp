// A shared library that has nothing to do with Troupe.
extern "C" int answer() {
  return 42;
}
