; Video instructions as clang writes them, with calls that must stay.

@words = private constant [4 x i32] [i32 -16715760, i32 33497104, i32 2139062143, i32 -2139062144]
@format = private constant [6 x i8] c"%08x\0A\00"

declare i32 @printf(i8*, ...)

define i32 @word(i64 %at) {
  %place = getelementptr [4 x i32], [4 x i32]* @words, i64 0, i64 %at
  %value = load volatile i32, i32* %place
  ret i32 %value
}

define void @show(i32 %value) {
  %format = getelementptr [6 x i8], [6 x i8]* @format, i64 0, i64 0
  %printed = call i32 (i8*, ...) @printf(i8* %format, i32 %value)
  ret void
}

define i32 @main() {
  %x = call i32 @word(i64 0)
  %y = call i32 @word(i64 1)
  %z = call i32 @word(i64 2)
  %sum = call i32 asm "vadd4.u32.u32.u32.sat $0, $1, $2, $3;", "=r,r,r,r"(i32 %x, i32 %y, i32 %z) #0
  call void @show(i32 %sum)
  %byte = tail call i32 asm sideeffect "\09vadd.s32.s32.s32 $0, $1.b1, $2.h0;\0A", "=r,r,r,~{memory}"(i32 %x, i32 %y), !srcloc !0
  call void @show(i32 %byte)
  %tied = call i32 asm "vmax2.s32.s32.s32.add $0, $2, $3, $0;", "=&r,0,r,r"(i32 %z, i32 %x, i32 %y)
  call void @show(i32 %tied)
  %kept = call i32 asm "vsub.s32.u32.u32 $0, $1, 5;", "=r,r"(i32 %y)
  call void @show(i32 %kept)
  %differs = call i32 asm "vsub.s32.s32.s32.sat $0.b2, $1.b2, $2.b2, $3;", "=r,r,r,r"(i32 %x, i32 %y, i32 %z)
  call void @show(i32 %differs)
  ret i32 0
}

define i32 @stays(i32 %x, i64 %wide) {
  %1 = call i32 asm "add.s32 $0, $1, 1;", "=r,r"(i32 %x)
  %2 = call i32 asm "vadd.u32.u32.u32 $0, $1, $1; add.s32 $0, $0, 1;", "=r,r"(i32 %1)
  %3 = call i32 asm "vadd.u32.u32.u32 $0, $1, $1;", "=r,l"(i64 %wide)
  %4 = add i32 %2, %3
  ret i32 %4
}

attributes #0 = { nounwind readnone }

!0 = !{i64 1}
