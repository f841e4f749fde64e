;;; test.el --- an Emacs user opens PTX  -*- lexical-binding: t -*-

;; `editors/emacs/test` loads the configuration of docs/start/editors.md, then this.

(require 'package)
(package-initialize)
(require 'eglot)
(require 'flymake)

(defun test-wait (what condition)
  "Wait until CONDITION holds; fail with WHAT after 20 seconds."
  (let ((end (+ (float-time) 20)))
    (while (not (funcall condition))
      (when (> (float-time) end)
        (message "emacs: no %s: %s" what (buffer-string))
        (kill-emacs 1))
      (accept-process-output nil 0.05))))

(defun test-check (what condition)
  "Fail with WHAT unless CONDITION."
  (unless condition
    (message "emacs: %s: %s" what (buffer-string))
    (kill-emacs 1)))

(setq eglot-sync-connect t
      eglot-autoshutdown nil
      eglot-confirm-server-initiated-edits nil
      flymake-no-changes-timeout 0.1
      make-backup-files nil)

(find-file (expand-file-name "a.ptx" (getenv "VPTX_FOLDER")))
(test-check "the mode of the page is not in force" (eq major-mode 'ptx-mode))
(apply #'eglot (eglot--guess-contact))
(flymake-mode 1)
(flymake-start)
(test-wait "finding" (lambda () (flymake-diagnostics)))
(test-check "the finding is another one"
            (string-match-p "order" (flymake-diagnostic-text (car (flymake-diagnostics)))))

;; The fix of the finding.
(goto-char (point-min))
(search-forward "vadd.sat")
(let* ((actions (eglot-code-actions (point) (point)))
       (fix (seq-find (lambda (it)
                        (string= (plist-get it :title) "Put the modifiers in the documented order"))
                      actions)))
  (test-check "no fix" fix)
  (eglot--apply-workspace-edit (plist-get fix :edit)))
(test-check "not fixed" (save-excursion (goto-char (point-min))
                                        (search-forward "vadd.s32.s32.s32.sat a, b, a;" nil t)))
(eglot--signal-textDocument/didChange)

;; Renaming, then formatting.
(goto-char (point-min))
(search-forward "a, b;")
(goto-char (match-beginning 0))
(eglot-rename "sum")
(eglot--signal-textDocument/didChange)
(eglot-format-buffer)
(goto-char (point-min))
(test-check "not renamed and formatted"
            (search-forward "    .reg .b32 sum, b;\n    vadd.s32.s32.s32.sat sum, b, sum;\n    ret;\n" nil t))

;; Functions and labels.
(test-check "no function in the index"
            (let ((index (funcall imenu-create-index-function)))
              (string-match-p "\\bf\\b" (format "%S" index))))
(message "emacs: all is well")
(set-buffer-modified-p nil)
(kill-emacs 0)
