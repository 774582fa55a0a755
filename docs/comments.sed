# Doxygen takes comments that begin with three slashes. The first comment of a header is about the
# header, a comment behind code about what stands before it, and any other about what follows.
1s|^// |/// @file\n/// |
# Code in a comment is indented by two more spaces; for Doxygen by four.
s|^( *)//   ( *[^ ].*)$|\1///     \2|
s|^( *)//( .*)?$|\1///\2|
s|^(.*[^ /].*)  // (.*)$|\1  ///< \2|
