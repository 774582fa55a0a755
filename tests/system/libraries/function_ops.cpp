// A shared library that has a function where a library of ops has an object.
extern "C" int troupe_op_library() {
  return 42;
}
