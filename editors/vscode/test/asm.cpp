// SYNTAX TEST "source.ptx.asm" "PTX in asm statements"
asm volatile("vadd4.u32.u32.u32.sat %0, %1, %[c].b3210;\n\t"
// <--- storage.type.asm.ptx
//  ^^^^^^^^ storage.modifier.ptx
//            ^^^^^ meta.embedded.ptx support.function.video.ptx
//                 ^^^^ storage.type.ptx
//                             ^^^^ entity.other.attribute-name.modifier.ptx
//                                  ^^ variable.parameter.operand.ptx
//                                          ^^^^ variable.parameter.operand.ptx
//                                                     ^^^^ constant.character.escape.cpp
    "@%%p1 add.s32 %0, %0, 7; // seven"
//   ^ keyword.operator.guard.ptx
//    ^^^^ variable.parameter.predicate.ptx
//         ^^^ support.function.ptx
//                         ^ constant.numeric.integer.ptx
//                            ^^^^^^^^ comment.line.double-slash.ptx
    : "=r"(d) : "r"(a));
//    ^^^^ - meta.embedded.ptx
int asmodeus = 1;
//  ^^^^^^^^ - storage.type.asm.ptx
