//! The terminal of the person who has typed a command, and the files that they have named.
//!
//! A command does all of its input and output by a [`Call`]. In the process of the command line, [`Local`]
//! answers it. If the command runs in a server, the call goes over the control socket to the command line, where
//! [`Local`] answers it too. So only the command line opens files: those that its own arguments name, with the
//! rights and in the folder of the person.

use crate::backup::disk::NewFile;
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle, TermLike};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most bytes of one call, and of its answer.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
/// The bytes that are read at a time.
const READ_BYTES: usize = 64 << 10;
/// The most bytes of a file that a server takes into its memory for a command.
const MAX_WHOLE_BYTES: u64 = 512 << 20;
/// How often a server draws a progress bar, per second.
const DRAWN_PER_SECOND: u8 = 5;

/// Something that a command wants from the command line. Each is answered by some bytes.
#[derive(Debug, Serialize, Deserialize)]
pub enum Call {
    /// To print this on standard output.
    Print(Vec<u8>),
    /// To print this on standard error.
    Complain(Vec<u8>),
    /// The password that the command is about, from the terminal or the next line of standard input.
    Password,
    /// The bytes at this place of the named file, or the next ones of standard input. None are the end.
    Read(u64),
    /// To write this to the new file, or to standard output.
    Write(Vec<u8>),
    /// To bring the new file under its name. The answer is its length, as eight bytes.
    Finish,
}

/// The facts that a command must know of the place where it was typed.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Surroundings {
    /// The columns of the terminal; `None` if standard error is none.
    columns: Option<u16>,
    /// The bytes of the named file, if it is one that can be read anywhere.
    input_bytes: Option<u64>,
}

/// A file that a command line names, or something else that the command needs of it.
#[derive(Debug, Clone)]
pub enum Need {
    /// Nothing, or standard input and output.
    Nothing,
    /// This file is read.
    Input(PathBuf),
    /// This file is made.
    NewFile(PathBuf),
    /// A password for this account.
    Password(String),
}

/// Answers calls in the process of the command line.
#[derive(Default)]
pub struct Local {
    input: Option<File>,
    /// Its length, if it can be read anywhere.
    input_bytes: Option<u64>,
    output: Option<NewFile>,
    account: String,
}

impl Local {
    /// Opens the file that a command line names.
    ///
    /// # Errors
    /// When it cannot be opened, or exists and shall be made.
    pub fn open(need: Need) -> anyhow::Result<Self> {
        Ok(match need {
            Need::Nothing => Self::default(),
            Need::Input(path) => {
                let input = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
                let found = input.metadata().ok().filter(std::fs::Metadata::is_file);
                Self { input: Some(input), input_bytes: found.map(|found| found.len()), ..Self::default() }
            }
            Need::NewFile(path) => Self { output: Some(NewFile::create(&path)?), ..Self::default() },
            Need::Password(account) => Self { account, ..Self::default() },
        })
    }

    /// The facts that a command must know of this place.
    pub fn surroundings(&self) -> Surroundings {
        let size = rustix::termios::tcgetwinsize(io::stderr()).ok();
        Surroundings {
            columns: size.filter(|_| io::stderr().is_terminal()).map(|size| size.ws_col),
            input_bytes: self.input_bytes,
        }
    }

    /// Does what a command wants.
    ///
    /// # Errors
    /// Those of the system.
    pub fn answer(&mut self, call: Call) -> io::Result<Vec<u8>> {
        match call {
            Call::Print(text) => write_all(&mut io::stdout().lock(), &text)?,
            Call::Complain(text) => write_all(&mut io::stderr().lock(), &text)?,
            Call::Password => return self.ask_password().map(String::into_bytes),
            Call::Read(at) => return self.read(at),
            Call::Write(bytes) => match &mut self.output {
                Some(output) => output.write_all(&bytes)?,
                None => write_all(&mut io::stdout().lock(), &bytes)?,
            },
            Call::Finish => {
                let Some(output) = self.output.take() else { return Ok(Vec::new()) };
                let length = output.length();
                output.finish().map_err(|error| io::Error::other(format!("{error:#}")))?;
                return Ok(length.to_le_bytes().into());
            }
        }
        Ok(Vec::new())
    }

    fn ask_password(&self) -> io::Result<String> {
        if io::stdin().is_terminal() {
            let prompt = format!("New password for {} (leave empty to generate one): ", self.account);
            return rpassword::prompt_password(prompt);
        }
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line)?;
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }

    fn read(&mut self, at: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; READ_BYTES];
        let read = match &mut self.input {
            Some(file) if self.input_bytes.is_some() => file.read_at(&mut bytes, at)?,
            Some(pipe) => pipe.read(&mut bytes)?,
            None => io::stdin().lock().read(&mut bytes)?,
        };
        bytes.truncate(read);
        Ok(bytes)
    }
}

fn write_all(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes).and_then(|()| out.flush())
}

type Answer = Box<dyn FnMut(Call) -> io::Result<Vec<u8>> + Send>;

/// Where the calls of a command are answered. Clones are the same.
#[derive(Clone)]
pub struct Terminal(Arc<Shared>);

struct Shared {
    surroundings: Surroundings,
    /// Whether the command runs in a server.
    is_remote: bool,
    answer: Mutex<Answer>,
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Terminal")
    }
}

tokio::task_local! {
    static CURRENT: Terminal;
}

impl Terminal {
    /// That of this process.
    pub fn local(mut local: Local) -> Self {
        let surroundings = local.surroundings();
        Self::new(surroundings, false, Box::new(move |call| local.answer(call)))
    }

    /// One whose calls are answered elsewhere.
    pub fn remote(
        surroundings: Surroundings,
        answer: impl FnMut(Call) -> io::Result<Vec<u8>> + Send + 'static,
    ) -> Self {
        Self::new(surroundings, true, Box::new(answer))
    }

    fn new(surroundings: Surroundings, is_remote: bool, answer: Answer) -> Self {
        Self(Arc::new(Shared { surroundings, is_remote, answer: Mutex::new(answer) }))
    }

    /// That of the command that runs in this task; otherwise that of the process.
    pub fn current() -> Self {
        CURRENT.try_with(Self::clone).unwrap_or_else(|_| Self::local(Local::default()))
    }

    /// Runs a command at this terminal.
    pub async fn run<T>(self, command: impl Future<Output = T>) -> T {
        CURRENT.scope(self, command).await
    }

    fn call(&self, call: Call) -> io::Result<Vec<u8>> {
        (self.0.answer.lock())(call)
    }

    /// The named file, or standard input.
    pub fn input(&self) -> Input {
        Input { terminal: self.clone(), at: 0, unread: Vec::new().into_iter() }
    }

    /// The bytes of the named file, as far as they are known.
    pub fn input_bytes(&self) -> Option<u64> {
        self.0.surroundings.input_bytes
    }

    /// The new file, or standard output.
    pub fn output(&self) -> Output {
        Output(self.clone())
    }

    /// Brings the new file under its name. Returns its length.
    ///
    /// # Errors
    /// When there is a file of this name by now, or it may not be on disk.
    pub fn finish(&self) -> io::Result<u64> {
        let length = self.call(Call::Finish)?;
        Ok(length.try_into().map_or(0, u64::from_le_bytes))
    }
}

/// Prints text on standard output; see `say!`.
pub fn print(text: &str) -> anyhow::Result<()> {
    let terminal = Terminal::current();
    for piece in text.as_bytes().chunks(MAX_TEXT_BYTES) {
        match terminal.call(Call::Print(piece.to_vec())) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            printed => _ = printed.context("cannot write to standard output")?,
        }
    }
    Ok(())
}

/// Prints a line on standard error. Perhaps nobody reads it.
pub fn complain(line: &str) {
    Terminal::current().call(Call::Complain(format!("{line}\n").into_bytes())).ok();
}

/// The password for the account that the command line names; empty if one is to be generated.
pub fn password() -> anyhow::Result<String> {
    let typed =
        Terminal::current().call(Call::Password).context("cannot read the password from standard input")?;
    Ok(String::from_utf8(typed)?)
}

/// The whole content of the named file. `path` is its name, for messages.
pub fn read_whole(path: &Path) -> anyhow::Result<Vec<u8>> {
    let terminal = Terminal::current();
    let most = if terminal.0.is_remote { MAX_WHOLE_BYTES } else { u64::MAX };
    let mut bytes = Vec::new();
    let shown = path.display();
    terminal.input().take(most).read_to_end(&mut bytes).with_context(|| format!("cannot read {shown}"))?;
    if bytes.len() as u64 >= most {
        bail!("{shown} has {most} bytes or more; divide it, or stop the server meanwhile");
    }
    Ok(bytes)
}

/// A progress bar on standard error, until it is dropped; hidden if that is not a terminal.
pub fn progress_bar(total: u64, what: &'static str) -> ProgressBar {
    let terminal = Terminal::current();
    let target = match (terminal.0.is_remote, terminal.0.surroundings.columns) {
        (false, _) => ProgressDrawTarget::stderr(),
        (true, None) => ProgressDrawTarget::hidden(),
        (true, Some(_)) => ProgressDrawTarget::term_like_with_hz(Box::new(terminal), DRAWN_PER_SECOND),
    };
    let bar = ProgressBar::with_draw_target(Some(total), target)
        .with_message(what)
        .with_finish(ProgressFinish::AndClear);
    // The template is a constant that parses.
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}") {
        bar.set_style(style);
    }
    bar
}

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        self.0.surroundings.columns.unwrap_or_default()
    }

    fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
        if lines > 0 { self.write_str(&format!("\x1b[{lines}A")) } else { Ok(()) }
    }

    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        if lines > 0 { self.write_str(&format!("\x1b[{lines}B")) } else { Ok(()) }
    }

    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        if columns > 0 { self.write_str(&format!("\x1b[{columns}C")) } else { Ok(()) }
    }

    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        if columns > 0 { self.write_str(&format!("\x1b[{columns}D")) } else { Ok(()) }
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(&format!("{text}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.call(Call::Complain(text.as_bytes().to_vec())).map(drop)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write_str("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The named file of a command, or standard input.
pub struct Input {
    terminal: Terminal,
    /// The place after what was received.
    at: u64,
    /// Bytes that were received and are not read yet.
    unread: std::vec::IntoIter<u8>,
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.unread.as_slice().is_empty() {
            self.unread = self.terminal.call(Call::Read(self.at))?.into_iter();
            self.at += self.unread.len() as u64;
        }
        let read = self.unread.as_slice().read(into)?;
        if let Some(last) = read.checked_sub(1) {
            self.unread.nth(last);
        }
        Ok(read)
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let length = self.terminal.input_bytes().ok_or(io::ErrorKind::NotSeekable)?;
        let here = self.at - self.unread.len() as u64;
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => length.checked_add_signed(by),
            SeekFrom::Current(by) => here.checked_add_signed(by),
        };
        let at = at.ok_or(io::ErrorKind::InvalidInput)?;
        if at != here {
            (self.at, self.unread) = (at, Vec::new().into_iter());
        }
        Ok(at)
    }
}

/// The new file of a command, or standard output.
pub struct Output(Terminal);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = bytes.get(..MAX_TEXT_BYTES).unwrap_or(bytes);
        self.0.call(Call::Write(piece.to_vec()))?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
